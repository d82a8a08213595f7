import { stringify } from 'node:querystring';
import { isAnyArrayBuffer } from 'node:util/types';
import type { HeaderList } from '../schema/records';

/** What undici's `dispatch` is called with; only the fields that say what goes onto the wire. */
export interface DispatchOptions {
  readonly origin?: string | URL;
  readonly path?: unknown;
  readonly query?: Record<string, unknown>;
  readonly method?: unknown;
  readonly headers?: unknown;
  readonly body?: unknown;
  readonly upgrade?: unknown;
  readonly [key: symbol]: unknown;
}

/** Absolute URL of a dispatched request. A `Client` may leave out the origin: it has only one. */
export function requestUrl(options: DispatchOptions, dispatcher: object): string {
  const path = String(options.path ?? '/');
  const withQuery = options.query
    ? `${path}${path.includes('?') ? '&' : '?'}${stringify(options.query as never)}`
    : path;
  // Through a plain HTTP proxy the request line, and so the path, is absolute.
  if (/^https?:\/\//i.test(withQuery)) return withQuery;
  const origin = String(options.origin ?? ownOrigin(dispatcher) ?? 'http://localhost');
  return origin.replace(/\/+$/, '') + withQuery;
}

function ownOrigin(dispatcher: object): string | undefined {
  const key = Object.getOwnPropertySymbols(dispatcher).find((symbol) => symbol.description === 'url');
  if (key === undefined) return undefined;
  return (dispatcher as Record<symbol, { origin?: string } | null | undefined>)[key]?.origin;
}

/**
 * Request headers as undici accepts them: flat list, iterable of pairs, or object; a value may be a list.
 * `replaced` is set when reading them used them up (a generator), and must be sent in their place.
 */
export function requestHeaders(headers: unknown): { list: HeaderList; replaced?: string[] } {
  if (headers === null || typeof headers !== 'object') return { list: [] };
  if (Array.isArray(headers) && !Array.isArray(headers[0])) return { list: fromFlat(headers) };
  if (Symbol.iterator in headers) {
    const list = [...(headers as Iterable<[unknown, unknown]>)].flatMap(([name, value]) => expand(name, value));
    const usedUp = (headers as Iterable<unknown>)[Symbol.iterator]() === (headers as unknown);
    return usedUp ? { list, replaced: list.flat() } : { list };
  }
  return { list: Object.entries(headers).flatMap(([name, value]) => expand(name, value)) };
}

function fromFlat(flat: readonly unknown[]): HeaderList {
  const list: [string, string][] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) list.push(...expand(flat[i], flat[i + 1]));
  return list;
}

function expand(name: unknown, value: unknown): [string, string][] {
  if (value === undefined || value === null) return [];
  const values = Array.isArray(value) ? value : [value];
  return values.map((item) => [headerText(name), headerText(item)]);
}

/** The headers with one more, which takes the place of an earlier one of that name. */
export function withHeader(headers: unknown, added: readonly [string, string]): string[] {
  const others = requestHeaders(headers).list.filter(([name]) => name.toLowerCase() !== added[0].toLowerCase());
  return [...others.flat(), ...added];
}

/** Header bytes are Latin-1 on the wire. */
function headerText(value: unknown): string {
  return ArrayBuffer.isView(value) ? Buffer.from(knownBody(value) ?? []).toString('latin1') : String(value);
}

/** Response headers or trailers: `raw` keeps order, case and duplicates; the parsed object is all that some give. */
export function responseHeaders(raw: unknown, parsed?: unknown): HeaderList {
  if (Array.isArray(raw)) return fromFlat(raw);
  return requestHeaders(raw ?? parsed).list;
}

/** Bytes of a body that is known as a whole before it is sent; everything else is seen while it is sent. */
export function knownBody(body: unknown): Uint8Array | undefined {
  if (typeof body === 'string') return Buffer.from(body);
  if (isAnyArrayBuffer(body)) return new Uint8Array(body);
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  return undefined;
}
