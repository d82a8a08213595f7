import { asArray, asNumber, asObject, asString, asText, isObject, objectsOf, parseJson } from './json-fields';
import type { JsonObject } from './json-fields';
import { DeltaMerger } from './merge-delta';
import type { ParsedResponse } from './provider';
import { describeError } from './response-body';
import { encodeSse, parseSse } from './sse';

/** What has arrived of one choice. The pieces of long lists are collected, and joined once at the end. */
interface ChoiceState {
  /** Fields beside `delta`: the last value that says something. */
  readonly fields: Map<string, unknown>;
  readonly calls: Map<number, JsonObject>;
  lastCall: number | undefined;
  readonly logprobs: Map<string, unknown[]>;
  readonly content: string[];
  message: JsonObject;
  readonly merger: DeltaMerger;
}

/** Assembles a stream of `chat.completion.chunk` into the `chat.completion` that the same request gives without `stream`. */
export function assembleChatStream(text: string, expectedChoices: number): ParsedResponse {
  const top = new Map<string, unknown>();
  const choices = new Map<number, ChoiceState>();
  let done = false;
  let error: ParsedResponse['error'];
  let errorBody: unknown;
  for (const { event, data } of parseSse(text)) {
    if (data.startsWith('[DONE]')) {
      done = true;
      continue;
    }
    const chunk = parseJson(data);
    if (!isObject(chunk)) continue;
    if (chunk['error'] !== undefined && chunk['error'] !== null) errorBody = chunk['error'];
    else if (event === 'error') errorBody = chunk;
    if (errorBody !== undefined) error ??= describeError(isObject(errorBody) ? errorBody : { message: errorBody });
    if (event !== 'error') addChunk(chunk, top, choices);
  }
  if (top.get('usage') === null) top.delete('usage');
  const listed = [...choices].sort(([a], [b]) => a - b);
  const finished =
    done || (listed.length >= expectedChoices && listed.every(([, { fields }]) => asText(fields.get('finish_reason'))));
  return {
    body: {
      ...Object.fromEntries(top),
      ...(top.size > 0 && { object: 'chat.completion' }),
      ...((listed.length > 0 || error === undefined) && {
        choices: listed.map(([index, state]) => finishChoice(index, state)),
      }),
      ...(errorBody !== undefined && { error: errorBody }),
    },
    finished,
    ...(error && { error }),
  };
}

function addChunk(chunk: JsonObject, top: Map<string, unknown>, choices: Map<number, ChoiceState>): void {
  for (const [key, value] of Object.entries(chunk)) {
    // `obfuscation` only pads the length of an event.
    if (key !== 'choices' && key !== 'obfuscation' && key !== 'error') keepLast(top, key, value);
  }
  for (const choice of objectsOf(chunk['choices'])) {
    const index = asNumber(choice['index']) ?? 0;
    const state = choices.get(index) ?? newChoice();
    choices.set(index, state);
    for (const [key, value] of Object.entries(choice)) {
      if (key === 'logprobs') addLogprobs(state, value);
      else if (key !== 'delta' && key !== 'index') keepLast(state.fields, key, value);
    }
    if (isObject(choice['delta'])) addDelta(state, choice['delta']);
    // Some gateways answer a stream with one chunk that holds the whole message.
    else if (isObject(choice['message'])) addDelta(state, choice['message']);
  }
}

function newChoice(): ChoiceState {
  return {
    fields: new Map(),
    calls: new Map(),
    lastCall: undefined,
    logprobs: new Map(),
    content: [],
    message: {},
    merger: new DeltaMerger(),
  };
}

/** Azure opens a stream with a chunk of empty texts and zeros; null and empty never replace a value. */
function keepLast(fields: Map<string, unknown>, key: string, value: unknown): void {
  if (key === 'message' || value === undefined) return;
  const empty = value === null || value === '' || value === 0;
  if (!empty || !fields.has(key)) fields.set(key, value);
}

function addLogprobs(state: ChoiceState, logprobs: unknown): void {
  for (const [key, value] of Object.entries(asObject(logprobs))) {
    const list = state.logprobs.get(key) ?? [];
    for (const item of asArray(value)) list.push(item);
    if (Array.isArray(value)) state.logprobs.set(key, list);
  }
}

function addDelta(state: ChoiceState, delta: JsonObject): void {
  const { content, tool_calls: calls, ...rest } = delta;
  if (typeof content === 'string' && !Array.isArray(state.message['content'])) state.content.push(content);
  else if (content !== undefined && content !== null) addParts(state, content);
  else if (content === null && !('content' in state.message)) state.message = { ...state.message, content };
  for (const call of objectsOf(calls)) addCall(state, call);
  if (Object.keys(rest).length > 0) state.message = state.merger.merge(state.message, rest);
}

/** Content as a list of parts (reasoning models of Mistral): what came as plain text before becomes its first part. */
function addParts(state: ChoiceState, content: unknown): void {
  const before = state.content.splice(0).join('');
  if (before !== '') state.message = { ...state.message, content: [{ type: 'text', text: before }] };
  state.message = state.merger.merge(state.message, { content });
}

/** A piece of a tool call belongs to the call of its index; without an index, a new id begins a new call. */
function addCall(state: ChoiceState, piece: JsonObject): void {
  const index = asNumber(piece['index']);
  const id = asText(piece['id']);
  const last = state.lastCall;
  const isNew =
    index === undefined && (last === undefined || (id !== undefined && state.calls.get(last)?.['id'] !== id));
  const key = index ?? (isNew ? state.calls.size : (last ?? 0));
  state.calls.set(key, state.merger.merge(state.calls.get(key) ?? {}, piece));
  state.lastCall = key;
}

function finishChoice(index: number, state: ChoiceState): JsonObject {
  const { role = 'assistant', ...rest } = state.message;
  const text = state.content.join('');
  // Beside calls or a refusal, an empty text is only how the stream began; the non-stream body has null there.
  const answered = state.calls.size > 0 || asText(rest['refusal']) !== undefined;
  const content = text !== '' || (state.content.length > 0 && !answered) ? text : (rest['content'] ?? null);
  const calls = [...state.calls].sort(([a], [b]) => a - b).map(([, call]) => finishCall(call));
  return {
    index,
    message: { role, ...rest, content, ...(calls.length > 0 && { tool_calls: calls }) },
    logprobs: state.logprobs.size > 0 ? Object.fromEntries(state.logprobs) : null,
    finish_reason: null,
    ...Object.fromEntries(state.fields),
  };
}

function finishCall(call: JsonObject): JsonObject {
  const fields = Object.entries(call).filter(([key]) => key !== 'index');
  return {
    ...Object.fromEntries(fields),
    ...(isObject(call['function']) && { function: { arguments: '', ...call['function'] } }),
  };
}

/** A `chat.completion` as the chunks of a stream, from which every SDK assembles the same body. */
export function encodeChatStream(body: JsonObject, usage: 'own-chunk' | 'last-chunk' | 'none'): Buffer[] {
  const { choices, error, usage: counts, ...rest } = body;
  const top = { ...rest, object: 'chat.completion.chunk' };
  const list = objectsOf(choices);
  if (list.length === 0 && error !== undefined && error !== null) return [encodeSse({ error })];
  const chunks = list.flatMap((choice, i): JsonObject[] =>
    choiceChunks(choice, i).map((item) => ({ ...top, choices: [item] })),
  );
  const last = chunks.at(-1);
  const known = counts !== undefined && counts !== null;
  if (known && usage === 'own-chunk') chunks.push({ ...top, choices: [], usage: counts });
  if (known && usage === 'last-chunk' && last) chunks.splice(-1, 1, { ...last, usage: counts });
  if (error !== undefined && error !== null) return [...chunks.map((chunk) => encodeSse(chunk)), encodeSse({ error })];
  return [...chunks.map((chunk) => encodeSse(chunk)), encodeSse('[DONE]')];
}

function choiceChunks(choice: JsonObject, position: number): JsonObject[] {
  const { message, logprobs, finish_reason: reason, index = position, ...rest } = choice;
  const { role = 'assistant', content, tool_calls: calls, ...fields } = asObject(message);
  const chunk = (delta: JsonObject, more: JsonObject = {}): JsonObject => ({
    index,
    delta,
    finish_reason: null,
    ...more,
  });
  const empty = typeof content === 'string' ? '' : null;
  return [
    chunk({ role, content: empty }),
    ...Object.entries(fields).map(([key, value]) => chunk(Object.fromEntries([[key, value]]))),
    ...(content === undefined || content === null || content === '' ? [] : [chunk({ content })]),
    ...objectsOf(calls).flatMap((call, i) => callPieces(call, i).map((piece) => chunk({ tool_calls: [piece] }))),
    ...(isObject(logprobs) ? [chunk({}, { logprobs })] : []),
    { ...rest, index, delta: {}, finish_reason: reason ?? null },
  ];
}

/** The first piece names the call, the second carries its arguments, as OpenAI sends them. */
function callPieces(call: JsonObject, index: number): JsonObject[] {
  const target = call['function'];
  if (!isObject(target)) return [{ index, ...call }];
  const text = asString(target['arguments']) ?? JSON.stringify(target['arguments'] ?? {});
  const first = { index, ...call, function: { ...target, arguments: '' } };
  return text === '' ? [first] : [first, { index, function: { arguments: text } }];
}
