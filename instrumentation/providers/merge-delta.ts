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

/** How far back in a list the element of an index is looked for; streams interleave only a few at a time. */
const LOOK_BACK = 64;

/**
 * Joins the pieces of a stream: texts are concatenated, objects merged, lists extended (elements with an `index` are
 * merged into the element of that index), other values replaced. Null never replaces a value. Objects and lists of its
 * own are changed in place, so that the cost grows with the pieces and not with what they have grown to; those of the
 * caller are copied first.
 */
export class DeltaMerger {
  private readonly owned = new WeakSet<object>();

  merge(target: JsonObject, delta: JsonObject, depth = 0): JsonObject {
    const merged = this.own(target, () => ({ ...target }));
    for (const [key, piece] of Object.entries(delta)) {
      if (piece === undefined) continue;
      const before = Object.hasOwn(merged, key) ? merged[key] : undefined;
      setField(merged, key, this.join(WHOLE.has(key), [before, piece], depth));
    }
    return merged;
  }

  private own<T extends object>(value: T, copy: () => T): T {
    if (this.owned.has(value)) return value;
    const copied = copy();
    this.owned.add(copied);
    return copied;
  }

  private join(whole: boolean, [before, piece]: [unknown, unknown], depth: number): unknown {
    if (before === undefined || before === null) return piece;
    if (piece === null) return before;
    if (typeof piece === 'string' && typeof before === 'string') return whole ? piece || before : before + piece;
    if (depth >= MAX_DEPTH) return piece;
    if (Array.isArray(piece))
      return this.extend(Array.isArray(before) ? (before as unknown[]) : [before], piece, depth);
    // A provider that streams parts and then plain text: the text becomes the last element.
    if (Array.isArray(before))
      return this.extend(before, [typeof piece === 'string' ? { type: 'text', text: piece } : piece], depth);
    if (isObject(piece) && isObject(before)) return this.merge(before, piece, depth + 1);
    return piece;
  }

  private extend(before: unknown[], pieces: readonly unknown[], depth: number): unknown[] {
    const list = this.own(before, () => [...before]);
    for (const piece of pieces) {
      const at = placeOf(piece, list);
      if (at >= 0) list[at] = this.merge(list[at] as JsonObject, piece as JsonObject, depth + 1);
      else list.push(piece);
    }
    return list;
  }
}

/** An own field of any name: assigning to `__proto__` would change the prototype instead. */
function setField(object: JsonObject, key: string, value: unknown): void {
  if (key !== '__proto__') (object as Record<string, unknown>)[key] = value;
  else Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}

/** Where in the list the element stands that a piece continues; -1 when it is a new one. */
function placeOf(piece: unknown, list: readonly unknown[]): number {
  if (!isObject(piece)) return -1;
  const index = asNumber(piece['index']);
  if (index !== undefined) {
    for (let at = list.length - 1; at >= Math.max(0, list.length - LOOK_BACK); at -= 1) {
      const item = list[at];
      if (isObject(item) && item['index'] === index && sameType(item, piece)) return at;
    }
    return -1;
  }
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
