import type { TypedJson } from './records';
import { textOf } from './text-of';

/** Marks a tagged value; an own key of this name in user data is escaped by the tag `object`. */
const TAG = '$reenact';

/** Deepest nesting and most nodes that are carried; beyond it a value is named as lost. */
const MAX_DEPTH = 200;

interface EncodeState {
  readonly seen: Set<object>;
  readonly lost: string[];
}

/**
 * Turns a value into JSON that keeps what JSON loses: undefined, NaN, -0, bigint, Date, Map, Set, bytes, Error with
 * cause, and instances of classes by their own `toJSON`. `lost` names by path what cannot be carried.
 */
export function encodeTyped(value: unknown): { json: TypedJson; lost: string[] } {
  const state: EncodeState = { seen: new Set(), lost: [] };
  return { json: encode(value, '', state), lost: state.lost };
}

function tagged(tag: string, value?: unknown): TypedJson {
  return value === undefined ? { [TAG]: tag } : { [TAG]: tag, value };
}

function encode(value: unknown, path: string, state: EncodeState): TypedJson {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0)
        ? value
        : tagged('number', Object.is(value, -0) ? '-0' : String(value));
    case 'undefined':
      return tagged('undefined');
    case 'bigint':
      return tagged('bigint', value.toString());
    case 'object':
      return value === null ? null : encodeObject(value, path, state);
    default:
      state.lost.push(`${path || '/'}: ${typeof value}`);
      return tagged('lost', typeof value);
  }
}

function encodeObject(value: object, path: string, state: EncodeState): TypedJson {
  if (state.seen.has(value) || state.seen.size >= MAX_DEPTH) {
    state.lost.push(`${path || '/'}: circular or too deep`);
    return tagged('lost', 'circular');
  }
  state.seen.add(value);
  try {
    return encodeByClass(value, path, state);
  } catch (error) {
    state.lost.push(`${path || '/'}: ${textOf(error)}`);
    return tagged('lost', 'unreadable');
  } finally {
    state.seen.delete(value);
  }
}

function encodeByClass(value: object, path: string, state: EncodeState): TypedJson {
  // Holes too: `map` would pass them over.
  if (Array.isArray(value)) return Array.from(value, (item, index) => encode(item, `${path}/${index}`, state));
  if (value instanceof Date) return tagged('date', Number.isNaN(value.getTime()) ? 'invalid' : value.toISOString());
  if (value instanceof Map)
    return tagged(
      'map',
      [...value].map(([k, v], i) => [encode(k, `${path}/${i}/0`, state), encode(v, `${path}/${i}/1`, state)]),
    );
  if (value instanceof Set)
    return tagged(
      'set',
      [...value].map((v, i) => encode(v, `${path}/${i}`, state)),
    );
  if (value instanceof Error) return tagged('error', encodeError(value, path, state));
  if (Buffer.isBuffer(value)) return tagged('buffer', value.toString('base64'));
  if (value instanceof Uint8Array)
    return tagged('bytes', Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64'));
  if (value instanceof RegExp) return tagged('regexp', [value.source, value.flags]);
  if (value instanceof URL) return tagged('url', value.href);
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function')
    return encode((value as { toJSON(): unknown }).toJSON(), path, state);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null && isOpaque(value)) {
    state.lost.push(`${path || '/'}: ${value.constructor?.name ?? 'object'}`);
    return tagged('lost', value.constructor?.name ?? 'object');
  }
  return encodeEntries(value, path, state);
}

/** Functions of the runtime whose state is not in their own properties: nothing of them could be rebuilt. */
function isOpaque(value: object): boolean {
  return (
    value instanceof Promise ||
    value instanceof WeakMap ||
    value instanceof WeakSet ||
    Symbol.asyncIterator in value ||
    (Symbol.iterator in value && Object.keys(value).length === 0)
  );
}

function encodeEntries(value: object, path: string, state: EncodeState): TypedJson {
  const entries = Object.entries(value).map(([key, item]) => [key, encode(item, `${path}/${key}`, state)] as const);
  // `__proto__` as an own key must stay an own key, so the plain form is built without assignment.
  const plain = Object.fromEntries(entries);
  return Object.hasOwn(value, TAG) ? tagged('object', entries) : plain;
}

function encodeError(error: Error & { code?: unknown }, path: string, state: EncodeState): TypedJson {
  const extra = Object.entries(error).filter(([key]) => !['name', 'message', 'stack', 'cause'].includes(key));
  return {
    name: error.name,
    message: error.message,
    ...(error.cause !== undefined && { cause: encode(error.cause, `${path}/cause`, state) }),
    ...(extra.length > 0 && {
      own: Object.fromEntries(extra.map(([key, item]) => [key, encode(item, `${path}/${key}`, state)])),
    }),
  };
}

/** The inverse of `encodeTyped`. Untrusted input: builds plain data and built-in classes only. */
export function decodeTyped(json: TypedJson): unknown {
  if (typeof json !== 'object' || json === null) return json;
  if (Array.isArray(json)) return json.map(decodeTyped);
  const record = json as Record<string, unknown>;
  if (typeof record[TAG] === 'string') return decodeTagged(record[TAG], record['value']);
  return Object.fromEntries(Object.entries(record).map(([key, item]) => [key, decodeTyped(item)]));
}

function decodeTagged(tag: string, value: unknown): unknown {
  const text = typeof value === 'string' ? value : '';
  const list = Array.isArray(value) ? (value as unknown[]) : [];
  switch (tag) {
    case 'number':
      return Number(text);
    case 'bigint':
      return /^-?\d+$/.test(text) ? BigInt(text) : undefined;
    case 'date':
      return new Date(text === 'invalid' ? NaN : text);
    case 'map':
      return new Map(
        list.map((pair) =>
          Array.isArray(pair) ? [decodeTyped(pair[0]), decodeTyped(pair[1])] : [undefined, undefined],
        ),
      );
    case 'set':
      return new Set(list.map(decodeTyped));
    case 'error':
      return decodeError(value);
    case 'buffer':
      return Buffer.from(text, 'base64');
    case 'bytes':
      return new Uint8Array(Buffer.from(text, 'base64'));
    case 'regexp':
      return decodeRegExp(list);
    case 'url':
      return URL.canParse(text) ? new URL(text) : text;
    case 'generator':
      return decodeGenerator(value);
    case 'object':
      return Object.fromEntries(
        list.filter(Array.isArray).map((pair: unknown[]) => [String(pair[0]), decodeTyped(pair[1])]),
      );
    default:
      return undefined;
  }
}

/** A generator that gives the recorded items and ends as the recorded one did. */
function decodeGenerator(value: unknown): unknown {
  const recorded = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  const items = Array.isArray(recorded['items']) ? (recorded['items'] as unknown[]) : [];
  const last = (): unknown => {
    if (Object.hasOwn(recorded, 'error')) throw decodeTyped(recorded['error']);
    return decodeTyped(recorded['end']);
  };
  if (recorded['async'] !== true)
    return (function* () {
      for (const item of items) yield decodeTyped(item);
      return last();
    })();
  return (async function* () {
    for (const item of items) yield decodeTyped(item);
    return last();
  })();
}

function decodeRegExp(list: unknown[]): unknown {
  try {
    return new RegExp(String(list[0]), String(list[1] ?? ''));
  } catch {
    // An invalid pattern can only come from a forged log; it stays readable as text.
    return String(list[0]);
  }
}

const ERROR_CLASSES: Readonly<Record<string, ErrorConstructor>> = {
  TypeError,
  RangeError,
  SyntaxError,
  ReferenceError,
  EvalError,
  URIError,
};

function decodeError(value: unknown): Error {
  const { name, message, cause, own } = (typeof value === 'object' && value !== null ? value : {}) as Record<
    string,
    unknown
  >;
  const Class = (typeof name === 'string' && Object.hasOwn(ERROR_CLASSES, name) && ERROR_CLASSES[name]) || Error;
  const error = new Class(
    typeof message === 'string' ? message : '',
    cause === undefined ? undefined : { cause: decodeTyped(cause) },
  );
  if (typeof name === 'string' && error.name !== name)
    Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true });
  if (typeof own === 'object' && own !== null) {
    for (const [key, item] of Object.entries(own)) {
      Object.defineProperty(error, key, {
        value: decodeTyped(item),
        configurable: true,
        enumerable: true,
        writable: true,
      });
    }
  }
  return error;
}

/** The value as plain JSON would carry it, for the readable turn. */
export function toPlainJson(json: TypedJson): unknown {
  const { [TAG]: tag, value } = (typeof json === 'object' && json !== null ? json : {}) as Record<string, unknown>;
  if (tag === 'generator') return toPlainJson((value as { items?: TypedJson } | undefined)?.items ?? []);
  const text = JSON.stringify(decodeTyped(json), (_key, item: unknown) =>
    typeof item === 'bigint' ? item.toString() : item,
  );
  return text === undefined ? null : (JSON.parse(text) as unknown);
}
