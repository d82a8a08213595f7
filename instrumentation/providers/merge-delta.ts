import { asNumber, isObject } from './json-fields';
import type { JsonObject } from './json-fields';

/** Fields that name or class a thing: a stream repeats them whole, it never sends them in pieces. */
const WHOLE = new Set([
  'id',
  'type',
  'role',
  'name',
  'object',
  'format',
  'model',
  'status',
  'index',
  'finish_reason',
  'stop_reason',
]);

/** Deepest nesting in which pieces are joined; deeper values are replaced. */
const MAX_DEPTH = 16;

/**
 * Joins a piece of a stream to what came before it: texts are concatenated, objects merged, lists extended (elements
 * with an `index` are merged into the element of that index), other values replaced. Null never replaces a value.
 * Builds a new object without assigning to keys of the input.
 */
export function mergeDelta(target: JsonObject, delta: JsonObject, depth = 0): Record<string, unknown> {
  const merged = new Map(Object.entries(target));
  for (const [key, piece] of Object.entries(delta)) {
    if (piece === undefined) continue;
    merged.set(key, mergeField(key, [merged.get(key), piece], depth));
  }
  return Object.fromEntries(merged);
}

function mergeField(key: string, [before, piece]: [unknown, unknown], depth: number): unknown {
  if (before === undefined || before === null) return piece;
  if (piece === null) return before;
  if (typeof piece === 'string' && typeof before === 'string') return WHOLE.has(key) ? piece || before : before + piece;
  if (depth >= MAX_DEPTH) return piece;
  if (Array.isArray(piece)) return mergeList(Array.isArray(before) ? (before as unknown[]) : [before], piece, depth);
  // A provider that streams parts and then plain text: the text becomes the last element.
  if (Array.isArray(before))
    return mergeList(before, [typeof piece === 'string' ? { type: 'text', text: piece } : piece], depth);
  if (isObject(piece) && isObject(before)) return mergeDelta(before, piece, depth + 1);
  return piece;
}

function mergeList(before: readonly unknown[], pieces: readonly unknown[], depth: number): unknown[] {
  const list = [...before];
  for (const piece of pieces) {
    const at = placeOf(piece, list);
    if (at >= 0) list[at] = mergeDelta(list[at] as JsonObject, piece as JsonObject, depth + 1);
    else list.push(piece);
  }
  return list;
}

/** Where in the list the element stands that a piece continues; -1 when it is a new one. */
function placeOf(piece: unknown, list: readonly unknown[]): number {
  if (!isObject(piece)) return -1;
  const index = asNumber(piece['index']);
  if (index !== undefined)
    return list.findLastIndex((item) => isObject(item) && item['index'] === index && sameType(item, piece));
  // Parts that are nothing but text, in pieces: they continue the last one of their type.
  const last = list.at(-1);
  const continues = isObject(last) && isBareText(last) && isBareText(piece) && last['type'] === piece['type'];
  return continues ? list.length - 1 : -1;
}

function isBareText(part: JsonObject): boolean {
  return Object.entries(part).every(
    ([key, value]) =>
      key === 'type' ||
      (key === 'text' && typeof value === 'string') ||
      (key === 'thinking' && typeof value === 'object'),
  );
}

function sameType(a: JsonObject, b: JsonObject): boolean {
  return a['type'] === undefined || b['type'] === undefined || a['type'] === b['type'];
}
