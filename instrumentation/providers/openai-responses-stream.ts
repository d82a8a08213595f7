import { asArray, asNumber, asObject, asString, isObject, objectsOf, parseJson, without } from './json-fields';
import type { JsonObject } from './json-fields';
import type { ParsedResponse } from './provider';
import { describeError, errorOf } from './response-body';
import { parseSse } from './sse';

/** One output item, with its parts by index and its texts in pieces. */
interface ItemState {
  item: JsonObject;
  /** `content/0`, `summary/1`: parts by list and index. */
  readonly parts: Map<string, JsonObject>;
  /** `arguments`, `content/0/text`: texts that arrive in pieces; a whole text replaces the pieces. */
  readonly texts: Map<string, string[]>;
  /** `content/0`: annotations that came one by one. */
  readonly annotations: Map<string, unknown[]>;
}

function newItem(item: JsonObject): ItemState {
  return { item, parts: new Map(), texts: new Map(), annotations: new Map() };
}

/** Where the text of `response.NAME.delta` and `response.NAME.done` belongs: the list of parts, if any, and the field. */
const TEXTS: ReadonlyMap<string, { list?: 'content' | 'summary'; field: string }> = new Map([
  ['output_text', { list: 'content', field: 'text' }],
  ['refusal', { list: 'content', field: 'refusal' }],
  ['reasoning_text', { list: 'content', field: 'text' }],
  ['reasoning_summary_text', { list: 'summary', field: 'text' }],
  ['function_call_arguments', { field: 'arguments' }],
  ['custom_tool_call_input', { field: 'input' }],
  ['mcp_call_arguments', { field: 'arguments' }],
  ['code_interpreter_call_code', { field: 'code' }],
]);

const PART_TYPES: ReadonlyMap<string, string> = new Map([
  ['output_text', 'output_text'],
  ['refusal', 'refusal'],
  ['reasoning_text', 'reasoning_text'],
  ['reasoning_summary_text', 'summary_text'],
]);

/**
 * Assembles a stream of the Responses endpoint. The last event carries the whole body; of a stream that was cut, the
 * body is put together from the items and deltas that arrived.
 */
export function assembleResponsesStream(text: string): ParsedResponse {
  let snapshot: JsonObject = {};
  let finished = false;
  let failure: unknown;
  const items = new Map<number, ItemState>();
  for (const { event, data } of parseSse(text)) {
    const body = parseJson(data);
    if (!isObject(body)) continue;
    const type = asString(body['type']) ?? event;
    if (isObject(body['response'])) {
      snapshot = body['response'];
      finished ||= /^response\.(?:completed|incomplete|failed|cancelled)$/.test(type);
    } else if (type === 'error' || isObject(body['error'])) {
      // The fields of the error stand in the event itself, or one level down.
      failure ??= isObject(body['error']) ? body['error'] : without(body, 'type', 'sequence_number');
    } else {
      addEvent(type, body, items);
    }
  }
  const output = [...items].sort(([a], [b]) => a - b).map(([, state]) => finishItem(state));
  // Some services send the last event without the output.
  const whole = objectsOf(snapshot['output']).length > 0 || output.length === 0;
  const body = { ...snapshot, ...(!whole && { output }), ...(failure !== undefined && { error: failure }) };
  const error = failure !== undefined ? describeError(asObject(failure)) : errorOf(body, 0);
  return { body, finished, ...(error && { error }) };
}

function addEvent(type: string, event: JsonObject, items: Map<number, ItemState>): void {
  const index = asNumber(event['output_index']);
  const [, name, phase] = /^response\.(\w+)\.(added|delta|done)$/.exec(type) ?? [];
  if (index === undefined || name === undefined) {
    if (index !== undefined) addAnnotation(type, event, items.get(index));
    return;
  }
  if (name === 'output_item') {
    if (isObject(event['item'])) items.set(index, newItem(event['item']));
    return;
  }
  // A delta whose item was never announced still holds what the model said.
  const state = items.get(index) ?? newItem(unannounced(name, event));
  items.set(index, state);
  if (name === 'content_part' || name === 'reasoning_summary_part') addPart(name, event, state);
  else addText({ name, isDelta: phase === 'delta' }, event, state);
}

function unannounced(name: string, event: JsonObject): JsonObject {
  const type = name.startsWith('reasoning') ? 'reasoning' : name.replace(/_(?:arguments|input|code)$/, '');
  const item = { id: event['item_id'], type: /^(?:output_text|refusal|content_part)$/.test(type) ? 'message' : type };
  return item.type === 'message' ? { ...item, role: 'assistant', content: [] } : item;
}

function addPart(name: string, event: JsonObject, state: ItemState): void {
  const list = name === 'content_part' ? 'content' : 'summary';
  const at = asNumber(event['content_index']) ?? asNumber(event['summary_index']) ?? 0;
  if (!isObject(event['part'])) return;
  state.parts.set(`${list}/${at}`, event['part']);
  state.texts.delete(`${list}/${at}/text`);
  state.texts.delete(`${list}/${at}/refusal`);
  state.annotations.delete(`${list}/${at}`);
}

function addText({ name, isDelta }: { name: string; isDelta: boolean }, event: JsonObject, state: ItemState): void {
  const place = TEXTS.get(name);
  if (!place) return;
  const at = asNumber(event['content_index']) ?? asNumber(event['summary_index']) ?? 0;
  const part = place.list === undefined ? '' : `${place.list}/${at}`;
  const key = place.list === undefined ? place.field : `${part}/${place.field}`;
  if (part !== '' && !state.parts.has(part)) state.parts.set(part, { type: PART_TYPES.get(name) });
  const text = isDelta ? event['delta'] : event[place.field];
  if (typeof text !== 'string') return;
  const pieces = state.texts.get(key);
  if (isDelta && pieces) pieces.push(text);
  else state.texts.set(key, isDelta ? [initialText(state, part, place.field), text] : [text]);
}

/** What the item or part held of this text when it was announced; nearly always the empty text. */
function initialText(state: ItemState, part: string, field: string): string {
  return asString((part === '' ? state.item : asObject(state.parts.get(part)))[field]) ?? '';
}

function addAnnotation(type: string, event: JsonObject, state: ItemState | undefined): void {
  if (type !== 'response.output_text.annotation.added' || !state) return;
  const key = `content/${asNumber(event['content_index']) ?? 0}`;
  const part = state.parts.get(key);
  if (!part) return;
  const list = state.annotations.get(key) ?? [...asArray(part['annotations'])];
  list.push(event['annotation']);
  state.annotations.set(key, list);
}

function finishItem(state: ItemState): JsonObject {
  const { item, parts, texts } = state;
  const fields = new Map(Object.entries(item));
  for (const list of ['content', 'summary'] as const) {
    const listed = [...parts.keys()]
      .filter((key) => key.startsWith(`${list}/`))
      .sort((a, b) => Number(a.slice(list.length + 1)) - Number(b.slice(list.length + 1)));
    if (listed.length > 0)
      fields.set(
        list,
        listed.map((key) => finishPart(key, state)),
      );
  }
  for (const [key, pieces] of texts) if (!key.includes('/')) fields.set(key, pieces.join(''));
  return Object.fromEntries(fields);
}

function finishPart(key: string, { parts, texts, annotations }: ItemState): JsonObject {
  const fields = new Map(Object.entries(parts.get(key) ?? {}));
  for (const field of ['text', 'refusal']) {
    const pieces = texts.get(`${key}/${field}`);
    if (pieces) fields.set(field, pieces.join(''));
  }
  const added = annotations.get(key);
  if (added) fields.set('annotations', added);
  return Object.fromEntries(fields);
}
