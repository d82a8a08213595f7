import {
  asArray,
  asNumber,
  asObject,
  asString,
  isObject,
  jsonOrText,
  objectsOf,
  parseJson,
  without,
} from './json-fields';
import type { JsonObject } from './json-fields';
import { DeltaMerger } from './merge-delta';
import type { ParsedResponse } from './provider';
import { describeError } from './response-body';
import { encodeSse, parseSse } from './sse';

interface BlockState {
  block: JsonObject;
  /** Pieces of the JSON text of a tool's input. */
  readonly input: string[];
  /** Pieces of the growing text of a block: `text` or `thinking`. */
  readonly text: string[];
  readonly citations: unknown[];
  readonly merger: DeltaMerger;
}

function newBlock(block: JsonObject): BlockState {
  return { block, input: [], text: [], citations: [], merger: new DeltaMerger() };
}

/** Assembles a stream of Anthropic messages into the message that the same request gives without `stream`. */
export function assembleAnthropicStream(text: string): ParsedResponse {
  let message: JsonObject | undefined;
  let failure: JsonObject | undefined;
  let finished = false;
  const blocks = new Map<number, BlockState>();
  for (const { event, data } of parseSse(text)) {
    const body = parseJson(data);
    if (!isObject(body)) continue;
    const type = asString(body['type']) ?? event;
    if (type === 'message_start') message = asObject(body['message']);
    else if (type === 'message_delta') message = mergeMessage(message ?? {}, body);
    else if (type === 'message_stop') finished = true;
    else if (type === 'error' || isObject(body['error'])) failure ??= body;
    else addBlockEvent(type, body, blocks);
  }
  const error = failure && describeError(asObject(failure['error']));
  if (message === undefined && blocks.size === 0)
    return { body: failure ? { ...failure } : {}, finished, ...(error && { error }) };
  const started = objectsOf(message?.['content']);
  const content = [...blocks].sort(([a], [b]) => a - b).map(([, state]) => finishBlock(state));
  return {
    body: { ...message, content: [...started, ...content], ...(failure && { error: failure['error'] }) },
    finished,
    ...(error && { error }),
  };
}

/** The counters of `message_delta` are totals, not additions; fields that do not apply are left out or null. */
function mergeMessage(message: JsonObject, event: JsonObject): JsonObject {
  const { delta, usage } = event;
  const counters = Object.entries(asObject(usage)).filter(([, value]) => value !== null);
  return {
    ...message,
    ...without(event, 'type', 'delta', 'usage'),
    ...asObject(delta),
    usage: { ...asObject(message['usage']), ...Object.fromEntries(counters) },
  };
}

function addBlockEvent(type: string, event: JsonObject, blocks: Map<number, BlockState>): void {
  const index = asNumber(event['index']);
  if (index === undefined) return;
  if (type === 'content_block_start' && isObject(event['content_block'])) {
    blocks.set(index, newBlock(event['content_block']));
  } else if (type === 'content_block_delta' && isObject(event['delta'])) {
    const state = blocks.get(index) ?? newBlock({});
    blocks.set(index, state);
    addDelta(state, event['delta']);
  }
}

function addDelta(state: BlockState, delta: JsonObject): void {
  const { type, ...fields } = delta;
  switch (type) {
    case 'text_delta':
      if (typeof delta['text'] === 'string') state.text.push(delta['text']);
      break;
    case 'thinking_delta':
      if (typeof delta['thinking'] === 'string') state.text.push(delta['thinking']);
      break;
    case 'input_json_delta':
      if (typeof delta['partial_json'] === 'string') state.input.push(delta['partial_json']);
      break;
    case 'signature_delta':
      state.block = { ...state.block, signature: delta['signature'] };
      break;
    case 'citations_delta':
      state.citations.push(delta['citation']);
      break;
    default:
      state.block = state.merger.merge(state.block, fields);
  }
}

function finishBlock({ block, input, text, citations }: BlockState): JsonObject {
  const field = block['type'] === 'thinking' ? 'thinking' : 'text';
  const json = input.join('');
  return {
    ...block,
    ...(text.length > 0 && Object.fromEntries([[field, (asString(block[field]) ?? '') + text.join('')]])),
    ...(citations.length > 0 && { citations: [...asArray(block['citations']), ...citations] }),
    // The input of a call that was cut is kept as the text that arrived.
    ...(json !== '' && { input: jsonOrText(json) }),
  };
}

/** A message as the events of a stream, from which the SDK assembles the same message. */
export function encodeAnthropicStream(body: JsonObject): Buffer[] {
  const emit = (event: JsonObject): Buffer => encodeSse(event, String(event['type']));
  if (body['type'] === 'error') return [emit(body)];
  const { content, stop_reason, stop_sequence, usage, error, stop_details, container, ...rest } = body;
  const counts = asObject(usage);
  const start = {
    ...rest,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...counts, output_tokens: Math.min(1, asNumber(counts['output_tokens']) ?? 0) },
  };
  const delta = {
    stop_reason: stop_reason ?? null,
    stop_sequence: stop_sequence ?? null,
    ...(stop_details !== undefined && { stop_details }),
    ...(container !== undefined && { container }),
  };
  const events = [
    { type: 'message_start', message: start },
    ...objectsOf(content).flatMap(blockEvents),
    ...(isObject(error)
      ? [{ type: 'error', error }]
      : [{ type: 'message_delta', delta, usage: counts }, { type: 'message_stop' }]),
  ];
  return events.map(emit);
}

function blockEvents(block: JsonObject, index: number): JsonObject[] {
  const delta = (fields: JsonObject): JsonObject => ({ type: 'content_block_delta', index, delta: fields });
  const { start, deltas } = blockPieces(block);
  return [
    { type: 'content_block_start', index, content_block: start },
    ...deltas.map(delta),
    { type: 'content_block_stop', index },
  ];
}

function blockPieces(block: JsonObject): { start: JsonObject; deltas: JsonObject[] } {
  const { text, thinking, signature, input, citations, ...rest } = block;
  if (block['type'] === 'text') {
    const cited = Array.isArray(citations) ? (citations as unknown[]) : undefined;
    return {
      start: { ...rest, ...('citations' in block && { citations: cited ? [] : citations }), text: '' },
      deltas: [
        ...(cited ?? []).map((citation) => ({ type: 'citations_delta', citation })),
        ...(text === '' ? [] : [{ type: 'text_delta', text }]),
      ],
    };
  }
  if (block['type'] === 'thinking')
    return {
      start: { ...rest, thinking: '', signature: '' },
      deltas: [
        ...(thinking === '' ? [] : [{ type: 'thinking_delta', thinking }]),
        ...(signature === undefined ? [] : [{ type: 'signature_delta', signature }]),
      ],
    };
  // Calls of every kind (`tool_use`, `server_tool_use`, `mcp_tool_use`) stream their input as JSON text.
  if (isObject(input) && String(block['type']).endsWith('tool_use'))
    return {
      start: { ...rest, input: {} },
      deltas: [{ type: 'input_json_delta', partial_json: Object.keys(input).length > 0 ? JSON.stringify(input) : '' }],
    };
  return { start: block, deltas: [] };
}
