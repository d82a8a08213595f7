import type { HeaderList } from '../instrumentation/schema/records';

/**
 * Headers in compact form: `[name, value]`; against an earlier list also `i` (the same header as its i-th),
 * `[i, j]` (the same as its i-th to j-th), and `[i, value]` with a string (its i-th name with another value).
 */
export type StoredHeaders = readonly (number | readonly [number, number] | readonly [number | string, string])[];

/** Encodes headers, as a difference when a base is given. */
export function encodeHeaders(headers: HeaderList, base?: HeaderList): StoredHeaders {
  if (base === undefined) return headers;
  const stored: (number | [number, number] | [number | string, string])[] = [];
  let at = 0;
  for (const [name, value] of headers) {
    const found = findFrom(base, at, name);
    if (found < 0) {
      stored.push([name, value]);
      continue;
    }
    at = found + 1;
    if (base[found]?.[1] !== value) stored.push([found, value]);
    else pushSame(stored, found);
  }
  return stored;
}

function findFrom(base: HeaderList, at: number, name: string): number {
  for (let i = at; i < base.length; i++) if (base[i]?.[0] === name) return i;
  return -1;
}

function pushSame(stored: (number | [number, number] | [number | string, string])[], index: number): void {
  const last = stored[stored.length - 1];
  if (typeof last === 'number' && last === index - 1) stored[stored.length - 1] = [last, index];
  else if (Array.isArray(last) && typeof last[1] === 'number' && last[1] === index - 1) last[1] = index;
  else stored.push(index);
}

/** The inverse; `undefined` when the stored form does not fit the base. */
export function decodeHeaders(stored: unknown, base?: HeaderList): HeaderList | undefined {
  if (!Array.isArray(stored)) return undefined;
  const headers: (readonly [string, string])[] = [];
  for (const item of stored as unknown[]) {
    const decoded = decodeItem(item, base ?? []);
    if (decoded === undefined) return undefined;
    headers.push(...decoded);
  }
  return headers;
}

function decodeItem(item: unknown, base: HeaderList): HeaderList | undefined {
  if (typeof item === 'number') return range(base, item, item);
  if (!Array.isArray(item)) return undefined;
  const [a, b] = item as unknown[];
  if (typeof a === 'number' && typeof b === 'number') return range(base, a, b);
  if (typeof b !== 'string') return undefined;
  if (typeof a === 'string') return [[a, b]];
  const name = typeof a === 'number' ? base[a]?.[0] : undefined;
  return name === undefined ? undefined : [[name, b]];
}

function range(base: HeaderList, from: number, to: number): HeaderList | undefined {
  if (!Number.isSafeInteger(from) || from < 0 || to < from || to >= base.length) return undefined;
  return base.slice(from, to + 1);
}
