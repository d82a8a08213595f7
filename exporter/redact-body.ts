import { isUtf8 } from 'node:buffer';
import type { HeaderList } from '../instrumentation/schema/records';
import type { KnownSecrets } from './known-secrets';
import { difference } from './payload-codec';
import type { Place } from './redaction-place';
import type { Tokens } from './redaction-key';
import { CREDENTIAL_FIELD, CREDENTIAL_IN_BODY } from './redaction-rules';

export interface BodyRules {
  /** Replaces the shapes of known credentials. */
  readonly shapes: (text: string) => string;
  /** Patterns and function of the configuration. */
  readonly own: ((text: string, where: Place) => string) | undefined;
  readonly tokens: Tokens;
  readonly secrets: KnownSecrets;
  /** The last body without a secret, by address: what the next one shares with it need not be looked at again. */
  readonly recent: Map<string, Buffer>;
}

export interface BodyContext {
  readonly rules: BodyRules;
  readonly place: 'request' | 'response';
  readonly tokenEndpoint: boolean;
  readonly headers: HeaderList;
  /** Address, for requests. */
  readonly key?: string;
}

/** Loaded at the first compressed body: most programs never have one. */
const zlib = (): typeof import('node:zlib') => process.getBuiltinModule('node:zlib');

type Coder = (bytes: Uint8Array, options?: { maxOutputLength?: number }) => Buffer;

const coders: Readonly<Record<string, () => readonly [decode: Coder, encode: Coder]>> = {
  gzip: () => [zlib().gunzipSync, zlib().gzipSync],
  deflate: () => [zlib().inflateSync, zlib().deflateSync],
  br: () => [zlib().brotliDecompressSync, zlib().brotliCompressSync],
};

/** Largest decoded body that is looked into when it is compressed. */
const MAX_DECODED = 64 * 1024 * 1024;
/** What is looked at again before a change where a private key may stand. */
const OVERLAP = 8192;
/** Longest run of characters of a credential that is followed back from a change. */
const MAX_RUN = 1024;
/** What stands before a credential and tells it (`Bearer `), and one character that must not be of a word. */
const LEAD = 16;
const MAX_RECENT = 32;
const MAX_RECENT_BYTES = 16 * 1024 * 1024;

/** A body with secrets replaced, or the same buffer. */
export function redactBody(body: Buffer, context: BodyContext): Buffer {
  if (body.length === 0) return body;
  const coding = context.headers
    .find(([name]) => /^content-encoding$/i.test(name))?.[1]
    .trim()
    .toLowerCase();
  if (coding === undefined || coding === '' || coding === 'identity') return redactPlain(body, context);
  const load = Object.hasOwn(coders, coding) ? coders[coding] : undefined;
  if (load === undefined) return body;
  const [decode, encode] = load();
  let plain: Buffer;
  try {
    plain = decode(body, { maxOutputLength: MAX_DECODED });
  } catch {
    // Cut off in the middle, or no such coding at all: these bytes cannot be read by anyone as text.
    return body;
  }
  const safe = redactPlain(plain, context);
  return safe === plain ? body : encode(safe);
}

function redactPlain(body: Buffer, context: BodyContext): Buffer {
  const { rules } = context;
  if (rules.own === undefined && !context.tokenEndpoint) return redactShapes(body, context);
  if (!isUtf8(body)) return redactShapes(body, context);
  const text = body.toString('utf8');
  let safe = rules.shapes(redactNamed(text, rules.tokens));
  if (context.tokenEndpoint) safe = redactFields(safe, rules.tokens);
  if (rules.own !== undefined) safe = rules.own(safe, { place: context.place });
  return safe === text ? body : Buffer.from(safe, 'utf8');
}

/** Shapes are ASCII: found in the bytes as they are, in what is new since the last body to the same address. */
function redactShapes(body: Buffer, { rules, key }: BodyContext): Buffer {
  const recent = key === undefined ? undefined : rules.recent.get(key);
  const from = recent === undefined ? 0 : startOfLook(body, difference(recent, body).prefix, rules.secrets.longest);
  const text = body.toString('latin1', from);
  const safe = rules.shapes(redactNamed(text, rules.tokens));
  if (safe === text) {
    if (key !== undefined) remember(rules.recent, key, body);
    return body;
  }
  return Buffer.from(body.toString('latin1', 0, from) + safe, 'latin1');
}

function redactNamed(text: string, tokens: Tokens): string {
  return text.replace(CREDENTIAL_IN_BODY, (...[, before = '', , value = '']: string[]) => before + tokens(value));
}

/** Where a credential may begin that the bytes from `changed` on could complete. */
function startOfLook(body: Buffer, changed: number, longest: number): number {
  if (body.includes('-----BEGIN')) return Math.max(0, changed - OVERLAP);
  let start = changed;
  const least = Math.max(0, changed - MAX_RUN);
  while (start > least && isOfCredential(body[start - 1] ?? 0)) start -= 1;
  return Math.max(0, start === least ? changed - OVERLAP : start - Math.max(LEAD, longest));
}

/** Letters, digits and `+ - . / = _ ~`. */
function isOfCredential(byte: number): boolean {
  return (
    (byte >= 0x61 && byte <= 0x7a) ||
    (byte >= 0x41 && byte <= 0x5a) ||
    (byte >= 0x2d && byte <= 0x39) ||
    byte === 0x2b ||
    byte === 0x3d ||
    byte === 0x5f ||
    byte === 0x7e
  );
}

function remember(recent: Map<string, Buffer>, key: string, body: Buffer): void {
  recent.delete(key);
  recent.set(key, body);
  let bytes = 0;
  for (const kept of recent.values()) bytes += kept.length;
  for (const [oldest, kept] of recent) {
    if (recent.size <= MAX_RECENT && bytes <= MAX_RECENT_BYTES) break;
    recent.delete(oldest);
    bytes -= kept.length;
  }
}

const JSON_FIELD = /("([\w-]{2,40})"\s*:\s*")((?:[^"\\]|\\.){1,20000})"/g;
const FORM_FIELD = /((?:^|&)([\w-]{2,40})=)([^&\s"]{1,20000})/g;

/** Credentials of a token endpoint's JSON or form body. */
function redactFields(text: string, tokens: Tokens): string {
  const secret = (name: string): boolean => CREDENTIAL_FIELD.test(name) || name === 'code';
  return text
    .replace(JSON_FIELD, (...[whole = '', before = '', name = '', value = '']: string[]) =>
      secret(name) ? `${before}${tokens(value)}"` : whole,
    )
    .replace(FORM_FIELD, (...[whole = '', before = '', name = '', value = '']: string[]) =>
      secret(name) ? `${before}${tokens(value)}` : whole,
    );
}
