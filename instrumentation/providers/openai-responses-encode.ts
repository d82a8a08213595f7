import { asString, isObject, objectsOf } from './json-fields';
import type { JsonObject } from './json-fields';
import { encodeSse } from './sse';

/** Numbers the events of one stream. */
type Emit = (type: string, fields: JsonObject) => void;

const TERMINAL: ReadonlySet<unknown> = new Set(['completed', 'incomplete', 'failed', 'cancelled']);

/** A response body as the events of a stream, complete enough for the accumulators of the SDKs. */
export function encodeResponsesStream(body: JsonObject): Buffer[] {
  const pieces: Buffer[] = [];
  const emit: Emit = (type, fields) => {
    pieces.push(encodeSse({ type, sequence_number: pieces.length, ...fields }, type));
  };
  const { error, ...answer } = body;
  const terminal = TERMINAL.has(body['status']) ? String(body['status']) : undefined;
  if (isObject(error) && !Array.isArray(body['output']) && terminal === undefined) {
    emitError(error, emit);
    return pieces;
  }
  const opening = { ...answer, status: 'in_progress', error: null, incomplete_details: null, output: [], usage: null };
  emit('response.created', { response: opening });
  emit('response.in_progress', { response: opening });
  objectsOf(body['output']).forEach((item, index) => emitItem(item, index, emit));
  if (isObject(error) && terminal === undefined) emitError(error, emit);
  else emit(`response.${terminal ?? 'completed'}`, { response: body });
  return pieces;
}

function emitError(error: JsonObject, emit: Emit): void {
  const { type, ...fields } = error;
  // Both spellings that services use: the fields beside the type, and the error object.
  emit('error', { code: type ?? null, param: null, ...fields, error });
}

function emitItem(item: JsonObject, output_index: number, emit: Emit): void {
  const place = { output_index, item_id: item['id'] };
  emit('response.output_item.added', { output_index, item: emptied(item) });
  if (item['type'] === 'message' || item['type'] === 'reasoning') emitParts(item, place, emit);
  const field = TEXT_FIELDS.get(item['type']);
  const text = field && asString(item[field.field]);
  if (field && text !== undefined) {
    if (text !== '') emit(`response.${field.event}.delta`, { ...place, delta: text });
    emit(`response.${field.event}.done`, { ...place, ...Object.fromEntries([[field.field, text]]) });
  }
  emit('response.output_item.done', { output_index, item });
}

const TEXT_FIELDS: ReadonlyMap<unknown, { event: string; field: string }> = new Map([
  ['function_call', { event: 'function_call_arguments', field: 'arguments' }],
  ['custom_tool_call', { event: 'custom_tool_call_input', field: 'input' }],
  ['mcp_call', { event: 'mcp_call_arguments', field: 'arguments' }],
]);

/** The item as it is announced: before any of its text. */
function emptied(item: JsonObject): JsonObject {
  const field = TEXT_FIELDS.get(item['type'])?.field;
  return {
    ...item,
    ...('status' in item && { status: 'in_progress' }),
    ...(item['type'] === 'message' && { content: [] }),
    ...(item['type'] === 'reasoning' && { summary: [], ...('content' in item && { content: [] }) }),
    ...(field !== undefined && Object.fromEntries([[field, '']])),
  };
}

const PART_FIELDS: ReadonlyMap<unknown, { event: string; field: string }> = new Map([
  ['output_text', { event: 'output_text', field: 'text' }],
  ['refusal', { event: 'refusal', field: 'refusal' }],
  ['reasoning_text', { event: 'reasoning_text', field: 'text' }],
  ['summary_text', { event: 'reasoning_summary_text', field: 'text' }],
]);

function emitParts(item: JsonObject, place: JsonObject, emit: Emit): void {
  for (const [list, event, position] of [
    ['summary', 'reasoning_summary_part', 'summary_index'],
    ['content', 'content_part', 'content_index'],
  ] as const) {
    objectsOf(item[list]).forEach((part, index) => {
      const at = { ...place, ...Object.fromEntries([[position, index]]) };
      const text = PART_FIELDS.get(part['type']);
      const whole = text && asString(part[text.field]);
      emit(`response.${event}.added`, {
        ...at,
        part: text ? { ...part, ...Object.fromEntries([[text.field, '']]) } : part,
      });
      if (text && whole !== undefined) {
        if (whole !== '') emit(`response.${text.event}.delta`, { ...at, delta: whole });
        emit(`response.${text.event}.done`, { ...at, ...Object.fromEntries([[text.field, whole]]) });
      }
      emit(`response.${event}.done`, { ...at, part });
    });
  }
}
