import type { JsonObject } from './json-fields';

const MAX_DEPTH = 8;
const ELLIPSIS = '…';

/** Cuts text to `maxBytes` of UTF-8 with "…" at the end, never within a code point. */
export function cutText(text: string, maxBytes: number): string {
  if (text.length <= maxBytes && Buffer.byteLength(text) <= maxBytes) return text;
  const room = Math.max(0, maxBytes - Buffer.byteLength(ELLIPSIS));
  // Bytes are never fewer than UTF-16 units, so only this much of a long text is looked at.
  let cut = text.slice(0, room);
  while (Buffer.byteLength(cut) > room) {
    const excess = Buffer.byteLength(cut) - room;
    cut = cut.slice(0, cut.length - Math.max(1, Math.floor(excess / 3)));
  }
  const last = cut.charCodeAt(cut.length - 1);
  if (last >= 0xd800 && last <= 0xdbff) cut = cut.slice(0, -1);
  return cut + ELLIPSIS;
}

/** How much of a value may still be shown, shared by everything that is copied from it. */
export interface Bounds {
  /** Longest text, in bytes. */
  readonly text: number;
  nodes: number;
}

/**
 * A copy of a JSON value with every text cut, base64 replaced by a note, and at most `bounds.nodes` values in all: the
 * cost does not depend on the size of the value.
 */
export function boundedValue(value: unknown, bounds: Bounds, depth = 0): unknown {
  bounds.nodes -= 1;
  if (typeof value === 'string') return boundedText(value, bounds.text);
  if (typeof value !== 'object' || value === null) return value;
  if (bounds.nodes <= 0 || depth >= MAX_DEPTH) return ELLIPSIS;
  return Array.isArray(value) ? boundedList(value, bounds, depth) : boundedObject(value, bounds, depth);
}

function boundedText(text: string, limit: number): string {
  if (isBase64(text)) return `[${text.length} characters of base64]`;
  const data = /^data:([\w.+-]+\/[\w.+-]+)?[^,]{0,64};base64,/.exec(text.slice(0, 160));
  if (!data) return cutText(text, limit);
  return `[${data[1] ?? 'data'}, ${base64Bytes(text.length - data[0].length)} bytes]`;
}

/** Bytes that so many characters of base64 stand for, give or take the padding. */
export function base64Bytes(characters: number): number {
  return Math.floor((characters * 3) / 4);
}

function boundedList(list: readonly unknown[], bounds: Bounds, depth: number): unknown[] {
  const copy: unknown[] = [];
  for (const item of list) {
    if (bounds.nodes <= 0) {
      copy.push(`${ELLIPSIS} ${list.length - copy.length} more`);
      break;
    }
    copy.push(boundedValue(item, bounds, depth + 1));
  }
  return copy;
}

function boundedObject(object: object, bounds: Bounds, depth: number): JsonObject {
  const fields = object as JsonObject;
  const entries: [string, unknown][] = [];
  for (const key in fields) {
    if (!Object.hasOwn(fields, key)) continue;
    if (bounds.nodes <= 0) {
      entries.push([ELLIPSIS, ELLIPSIS]);
      break;
    }
    const item = fields[key];
    const isMedia = key === 'data' && typeof item === 'string' && fields['type'] === 'base64';
    const shown = isMedia ? `[${base64Bytes(item.length)} bytes]` : boundedValue(item, bounds, depth + 1);
    entries.push([cutText(key, Math.min(bounds.text, 128)), shown]);
  }
  return Object.fromEntries(entries);
}

/** No prose runs for 256 letters without a space; signatures, encrypted reasoning and media do. */
function isBase64(text: string): boolean {
  if (text.length < 256) return false;
  const start = text.slice(0, 256);
  return /^[A-Za-z0-9+/=_-]+$/.test(start) && /[A-Z]/.test(start) && /[a-z]/.test(start) && /[0-9]/.test(start);
}
