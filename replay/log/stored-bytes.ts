import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { ReenactError } from '../../instrumentation/schema/errors';
import type { ExecutionTurn } from '../../instrumentation/schema/execution-log';
import { Checked } from './checked';

/** Text, or base64 of what is not UTF-8. */
export type StoredText = string | { base64: string };

/**
 * Bytes of a body, each stored once in a log: as the JSON of a readable turn, as the difference to an earlier body, or
 * as they are. Length and hash are those of the whole.
 */
export interface StoredBytes {
  bytes: number;
  sha256: string;
  /** The bytes are the JSON of this part of turn `turn` (from 1), indented by `indent`, followed by `tail`. */
  turn?: number;
  part?: 'request' | 'response';
  indent?: number;
  tail?: string;
  /** The first `prefix` and last `suffix` bytes are those of the request of span `base`, with `data` between. */
  base?: string;
  prefix?: number;
  suffix?: number;
  data?: StoredText;
}

/** Largest body, and most bytes of one log in memory: a forged log may describe more than it holds. */
const MAX_BODY = 512 * 1024 * 1024;
const MAX_TOTAL = 4 * 1024 * 1024 * 1024;

/** Differences are looked for in bodies from this size on; below it the marks cost more than they save. */
const MIN_SHARED = 64;

const INDENTS = [0, 2, 4, 1] as const;

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

export function storeText(bytes: Buffer): StoredText {
  return isUtf8(bytes) ? bytes.toString('utf8') : { base64: bytes.toString('base64') };
}

export function loadText(value: unknown, place: string): Buffer {
  if (typeof value === 'string') return Buffer.from(value, 'utf8');
  return Buffer.from(new Checked(value, place).string('base64'), 'base64');
}

/** What a body may be described by. */
export interface KnownParts {
  /** Readable part that probably is these bytes. */
  readonly readable?: { readonly turn: number; readonly part: 'request' | 'response'; readonly value: unknown };
  /** Earlier body that probably shares much with these bytes. */
  readonly earlier?: { readonly span: string; readonly bytes: Buffer };
}

/** Describes bytes by the shortest of the ways that fit. */
export function storeBytes(bytes: Buffer, known: KnownParts = {}): StoredBytes {
  const whole = { bytes: bytes.length, sha256: sha256(bytes) };
  if (bytes.length === 0) return whole;
  const asTurn = known.readable && matchReadable(bytes, known.readable);
  if (asTurn) return { ...whole, ...asTurn };
  const asDifference = known.earlier && difference(bytes, known.earlier);
  return { ...whole, ...(asDifference || { data: storeText(bytes) }) };
}

function matchReadable(bytes: Buffer, readable: NonNullable<KnownParts['readable']>) {
  if (!isUtf8(bytes)) return undefined;
  const text = bytes.toString('utf8');
  const open = /^[[{](\n( *))?/.exec(text);
  if (open === null) return undefined;
  const spaces = open[1] === undefined ? 0 : (open[2]?.length ?? 0);
  const indent = INDENTS.find((width) => width === spaces);
  if (indent === undefined) return undefined;
  const json = JSON.stringify(readable.value, null, indent);
  if (!text.startsWith(json)) return undefined;
  const tail = text.slice(json.length);
  if (tail.trim() !== '') return undefined;
  return {
    turn: readable.turn,
    part: readable.part,
    ...(indent > 0 && { indent }),
    ...(tail !== '' && { tail }),
  };
}

function difference(bytes: Buffer, { span, bytes: base }: NonNullable<KnownParts['earlier']>) {
  const limit = Math.min(bytes.length, base.length);
  const prefix = onBorder(bytes, commonPrefix(bytes, base, limit), -1);
  const suffix = bytes.length - onBorder(bytes, bytes.length - commonSuffix(bytes, base, limit - prefix), 1);
  if (prefix + suffix < MIN_SHARED) return undefined;
  return { base: span, prefix, suffix, data: storeText(bytes.subarray(prefix, bytes.length - suffix)) };
}

/** Compares in blocks first: bodies of megabytes differ by kilobytes. */
function commonPrefix(a: Buffer, b: Buffer, limit: number): number {
  const block = 4096;
  let count = 0;
  while (count + block <= limit && a.compare(b, count, count + block, count, count + block) === 0) count += block;
  while (count < limit && a[count] === b[count]) count += 1;
  return count;
}

function commonSuffix(a: Buffer, b: Buffer, limit: number): number {
  let count = 0;
  while (count < limit && a[a.length - 1 - count] === b[b.length - 1 - count]) count += 1;
  return count;
}

/** Moves a cut off the inside of a UTF-8 sequence, so that what lies between the cuts stays text. */
function onBorder(bytes: Buffer, at: number, step: 1 | -1): number {
  let position = at;
  while (position > 0 && position < bytes.length && ((bytes[position] ?? 0) & 0xc0) === 0x80) position += step;
  return position;
}

/** Reads bodies of one log back, and checks each against its length and hash. */
export class BytesReader {
  private readonly requests = new Map<string, Buffer>();
  private total = 0;

  constructor(private readonly turns: readonly ExecutionTurn[]) {}

  /** Bytes of a request body; later ones may be described by it. */
  request(stored: unknown, span: string): Buffer {
    const bytes = this.read(stored, `request of span ${span}`);
    this.requests.set(span, bytes);
    return bytes;
  }

  /** @throws ReenactError LOG_TAMPERED, PAYLOAD_DAMAGED, LOG_INVALID */
  read(stored: unknown, place: string): Buffer {
    const checked = new Checked(stored, `the ${place}`);
    const length = checked.integer('bytes');
    this.total += length;
    if (length > MAX_BODY || this.total > MAX_TOTAL)
      throw new ReenactError('LOG_INVALID', `the ${place} claims ${length} bytes, more than is read`);
    const bytes = length === 0 ? Buffer.alloc(0) : this.assemble(checked, place, length);
    if (sha256(bytes) === checked.string('sha256')) return bytes;
    if (checked.has('turn') || bytes.length === length)
      throw new ReenactError('LOG_TAMPERED', `the ${place} is not what was recorded: its hash differs`);
    throw new ReenactError('PAYLOAD_DAMAGED', `the ${place} has ${bytes.length} of ${length} bytes`);
  }

  private assemble(stored: Checked, place: string, length: number): Buffer {
    if (stored.has('turn')) return this.fromTurn(stored, place);
    const data = loadText(stored.value['data'], `the ${place}.data`);
    if (!stored.has('base')) return data;
    const base = this.requests.get(stored.string('base'));
    if (base === undefined)
      throw new ReenactError('PAYLOAD_DAMAGED', `the ${place} needs the request of span ${stored.string('base')}`);
    const prefix = stored.integer('prefix');
    const suffix = stored.integer('suffix');
    if (prefix + suffix > length || prefix > base.length || suffix > base.length)
      throw new ReenactError('PAYLOAD_DAMAGED', `the ${place} takes more of another request than that has`);
    return Buffer.concat([base.subarray(0, prefix), data, base.subarray(base.length - suffix)]);
  }

  private fromTurn(stored: Checked, place: string): Buffer {
    const turn = this.turns[stored.integer('turn') - 1];
    const part = stored.oneOf('part', ['request', 'response'] as const);
    const indent = stored.has('indent') ? stored.integer('indent') : 0;
    const tail = stored.has('tail') ? stored.string('tail') : '';
    if (turn === undefined)
      throw new ReenactError(
        'LOG_TAMPERED',
        `the ${place} is that of turn ${stored.integer('turn')}, which is missing`,
      );
    return Buffer.from(JSON.stringify(turn[part], null, Math.min(indent, 8)) + tail, 'utf8');
  }
}
