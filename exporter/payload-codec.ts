import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { AttributeValue } from '../instrumentation/schema/records';

/** Bytes of one item of a chunk array: a default Tempo cuts strings at 2,048 bytes, array items not. */
export const CHUNK_BYTES = 2000;

/** How a piece of bytes is stored, beside its chunks. */
export interface PieceInfo {
  /** Bytes stored. */
  readonly n: number;
  /** Their SHA-256, base64url. */
  readonly h: string;
  /** Set when they are not UTF-8: the chunks are base64. */
  readonly e?: 1;
}

/** Bytes as chunk strings and what is needed to check them. */
export interface Piece {
  readonly info: PieceInfo;
  readonly chunks: readonly string[];
}

export function sha256(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('base64url');

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

/** Encodes bytes as strings of at most 2,000 bytes, cut between code points, or base64 when they are not UTF-8. */
export function encodePiece(bytes: Buffer): Piece {
  const text = isUtf8(bytes);
  const info: PieceInfo = { n: bytes.length, h: hashOf(bytes), ...(text ? {} : { e: 1 as const }) };
  return { info, chunks: text ? cutText(bytes) : cutBase64(bytes) };
}

/** Cuts UTF-8 bytes into chunk strings. */
export function cutText(bytes: Buffer): string[] {
  const chunks: string[] = [];
  for (let start = 0; start < bytes.length;) {
    let end = Math.min(start + CHUNK_BYTES, bytes.length);
    while (end < bytes.length && isContinuation(bytes[end])) end--;
    chunks.push(bytes.toString('utf8', start, end));
    start = end;
  }
  return chunks;
}

function cutBase64(bytes: Buffer): string[] {
  const step = (CHUNK_BYTES / 4) * 3;
  const chunks: string[] = [];
  for (let start = 0; start < bytes.length; start += step) {
    chunks.push(bytes.toString('base64', start, Math.min(start + step, bytes.length)));
  }
  return chunks;
}

/** What is wrong with a stored piece. */
export interface Damage {
  readonly expected: number;
  readonly found: number;
  readonly limit: string;
}

/**
 * Reads a piece back. Backends may have turned the array into JSON text or a single item into a plain string.
 * Returns the damage when length or hash differ.
 */
export function decodePiece(info: PieceInfo, value: AttributeValue | undefined): Buffer | Damage {
  let nearest: Buffer | undefined;
  for (const chunks of chunkForms(value)) {
    const bytes = Buffer.from(chunks.join(''), info.e === 1 ? 'base64' : 'utf8');
    if (bytes.length === info.n && hashOf(bytes) === info.h) return bytes;
    nearest ??= bytes;
  }
  return { expected: info.n, found: nearest?.length ?? 0, limit: likelyLimit(value, nearest?.length === info.n) };
}

/** The forms in which a backend may return an array of strings, likeliest first. */
export function chunkForms(value: AttributeValue | undefined): (readonly string[])[] {
  if (value === undefined) return [[]];
  if (typeof value !== 'string') return typeof value === 'object' ? [value] : [[String(value)]];
  const list = parseStrings(value);
  return list === undefined ? [[value]] : [list, [value]];
}

function parseStrings(text: string): string[] | undefined {
  if (!text.startsWith('[')) return undefined;
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) && list.every((item) => typeof item === 'string') ? (list as string[]) : undefined;
  } catch {
    // Not an array turned into text: the value is the chunk itself, or was cut, which the hash will show.
    return undefined;
  }
}

/** Names the limit that most likely cut a value. */
export function likelyLimit(value: AttributeValue | undefined, sameLength = false): string {
  if (value === undefined) return 'the attribute is missing: an attribute count limit or a filter dropped it';
  if (sameLength) return 'the length is right but the content was changed on the way';
  const items = typeof value === 'object' ? value : [String(value)];
  const lengths = items.map((item) => Buffer.byteLength(item));
  if (lengths.some((length) => length >= 2045 && length <= 2048)) {
    return 'likely the 2,048-byte limit of Tempo (distributor.max_attribute_bytes)';
  }
  if (lengths.some((length) => length === 4095)) return 'likely the 4,095-character limit of New Relic';
  const longest = lengths.reduce((a, b) => Math.max(a, b), 0);
  return `likely a value length limit near ${longest} bytes (OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT or the backend's)`;
}

/** How one body follows from another. */
export interface Difference {
  readonly prefix: number;
  readonly suffix: number;
  readonly middle: Buffer;
}

/** Longest common prefix and suffix of two bodies, both cut at code point borders of `next`. */
export function difference(base: Buffer, next: Buffer): Difference {
  const most = Math.min(base.length, next.length);
  let prefix = commonPrefix(base, next, most);
  while (prefix > 0 && isContinuation(next[prefix])) prefix--;
  let suffix = commonSuffix(base, next, most - prefix);
  while (suffix > 0 && isContinuation(next[next.length - suffix])) suffix--;
  return { prefix, suffix, middle: next.subarray(prefix, next.length - suffix) };
}

/** Blocks are compared natively; only the block that differs is looked at byte by byte. */
const BLOCK = 4096;

function commonPrefix(a: Buffer, b: Buffer, most: number): number {
  let at = 0;
  while (at + BLOCK <= most && a.compare(b, at, at + BLOCK, at, at + BLOCK) === 0) at += BLOCK;
  while (at < most && a[at] === b[at]) at++;
  return at;
}

function commonSuffix(a: Buffer, b: Buffer, most: number): number {
  let n = 0;
  while (n + BLOCK <= most) {
    const [endA, endB] = [a.length - n, b.length - n];
    if (a.compare(b, endB - BLOCK, endB, endA - BLOCK, endA) !== 0) break;
    n += BLOCK;
  }
  while (n < most && a[a.length - 1 - n] === b[b.length - 1 - n]) n++;
  return n;
}

/** The inverse of `difference`; `undefined` when the lengths do not fit the base. */
export function applyDifference(base: Buffer, diff: Difference): Buffer | undefined {
  const { prefix, suffix, middle } = diff;
  if (!isLength(prefix) || !isLength(suffix) || prefix + suffix > base.length) return undefined;
  return Buffer.concat([base.subarray(0, prefix), middle, base.subarray(base.length - suffix)]);
}

const isLength = (n: number): boolean => Number.isSafeInteger(n) && n >= 0;
