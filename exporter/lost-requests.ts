import { crc32 } from 'node:zlib';
import { ATTRIBUTES, PAYLOAD_CODES } from '../instrumentation/schema/attributes';
import { decodePiece, type PieceInfo } from './payload-codec';
import type { ReadSpan } from './read-span';
import { idHalves, MAX_COVERED, parityHead, RequestParity, type ParityNote } from './request-parity';

/** The part of a lost exchange that later ones build on. */
export interface LostRequest {
  readonly middle: Buffer;
  readonly base: unknown;
  /** Request and response headers, as stored, where the span held them whole. */
  readonly headers: readonly [unknown, unknown] | undefined;
}

interface Group {
  readonly carrier: ReadSpan;
  readonly note: ParityNote;
  readonly others: readonly ReadSpan[];
}

/** More requests than this no group of ours has: a forged one must not cost time. */
const MAX_GROUP = 64;

/** Restores requests of which the span did not come back, or came back damaged, from the parity in later spans. */
export class LostRequests {
  private groups: Map<string, Group> | undefined;
  private readonly found = new Map<string, LostRequest | undefined>();

  /** Spans of one run, in the order of their process and ordinal. */
  constructor(private readonly spans: readonly ReadSpan[]) {}

  /** What is needed of the request of a span; `undefined` when it cannot be restored. */
  find(spanId: string): LostRequest | undefined {
    if (this.found.has(spanId)) return this.found.get(spanId);
    this.groups ??= groupsOf(this.spans);
    const group = this.groups.get(spanId);
    const request = group && restore(group);
    this.found.set(spanId, request);
    return request;
  }
}

/** Which group restores which span: the one that is missing, or, of a group that is whole, each for the others. */
function groupsOf(spans: readonly ReadSpan[]): Map<string, Group> {
  const conversations = new Map<string, ReadSpan[]>();
  for (const read of spans) {
    if (read.kind !== 'llm' && read.kind !== 'http') continue;
    const id = conversationOf(read);
    const list = conversations.get(id);
    if (list === undefined) conversations.set(id, [read]);
    else list.push(read);
  }
  const groups = new Map<string, Group>();
  for (const carrier of spans) {
    const note = noteOf(carrier);
    if (note === undefined) continue;
    const members = between(conversations.get(conversationOf(carrier, note.k)) ?? [], note);
    if (members.length === note.n) {
      for (const read of members)
        groups.set(read.span.spanId, { carrier, note, others: members.filter((other) => other !== read) });
    } else if (members.length === note.n - 1) {
      groups.set(missingId(note, members), { carrier, note, others: members });
    }
  }
  return groups;
}

/** As the encoder tells conversations apart. */
const conversationOf = (read: ReadSpan, key = read.search(ATTRIBUTES.key) ?? ''): string =>
  [read.search(ATTRIBUTES.process) ?? '', read.search(ATTRIBUTES.sessionId) ?? '', key].join('\n');

function noteOf(read: ReadSpan): ParityNote | undefined {
  const note = read.text['fp'] as Partial<ParityNote> | undefined;
  if (typeof note !== 'object' || note === null) return undefined;
  const pairs = [note.o, note.l, note.i].every(
    (pair) => Array.isArray(pair) && pair.length === 2 && pair.every(isCount),
  );
  return pairs &&
    (note.k === undefined || typeof note.k === 'string') &&
    isCount(note.n) &&
    note.n <= MAX_GROUP &&
    isCount(note.c)
    ? (note as ParityNote)
    : undefined;
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** The covered requests among those of a conversation, found by bisection: it may have many. */
function between(list: readonly ReadSpan[], { o: [first, last] }: ParityNote): ReadSpan[] {
  let low = 0;
  for (let high = list.length; low < high;) {
    const middle = (low + high) >> 1;
    if ((list[middle]?.text.o[0] ?? 0) < first) low = middle + 1;
    else high = middle;
  }
  const found: ReadSpan[] = [];
  for (let at = low; at < list.length && found.length <= MAX_GROUP; at++) {
    const read = list[at];
    if (read === undefined || read.text.o[0] > last) break;
    if ((infoOf(read)?.n ?? 0) <= MAX_COVERED) found.push(read);
  }
  return found;
}

function missingId(note: ParityNote, members: readonly ReadSpan[]): string {
  let [high, low] = note.i;
  for (const { span } of members) {
    const halves = idHalves(span.spanId);
    high = (high ^ halves[0]) >>> 0;
    low = (low ^ halves[1]) >>> 0;
  }
  return [high, low].map((half) => half.toString(16).padStart(8, '0')).join('');
}

const infoOf = (read: ReadSpan): PieceInfo | undefined => read.text.p?.[PAYLOAD_CODES[ATTRIBUTES.requestBody] ?? ''];

function restore({ carrier, note, others }: Group): LostRequest | undefined {
  const info = carrier.text.p?.[PAYLOAD_CODES[ATTRIBUTES.parity] ?? ''];
  const stored = info && decodePiece(info, carrier.attributes.get(ATTRIBUTES.parity));
  if (!Buffer.isBuffer(stored)) return undefined;
  const rest = new RequestParity();
  for (const read of others) {
    const piece = infoOf(read);
    const middle = piece && decodePiece(piece, read.attributes.get(ATTRIBUTES.requestBody));
    const head = headOf(read);
    if (!Buffer.isBuffer(middle) || head === undefined) return undefined;
    rest.add({ ordinal: read.text.o[0], spanId: read.span.spanId, head, middle });
  }
  const { note: sum, bytes } = rest.take();
  const [headLength, middleLength] = [note.l[0] ^ sum.l[0], note.l[1] ^ sum.l[1]];
  const whole = Buffer.alloc(Math.max(stored.length, bytes.length));
  for (let at = 0; at < whole.length; at++) whole[at] = (stored[at] ?? 0) ^ (bytes[at] ?? 0);
  const member = whole.subarray(0, headLength + middleLength);
  const fits = headLength >= 0 && middleLength >= 0 && member.length === headLength + middleLength;
  if (!fits || crc32(member) !== (note.c ^ sum.c) >>> 0) return undefined;
  return readMember(member, headLength);
}

function headOf(read: ReadSpan): Buffer | undefined {
  const request = read.text['q'] as { h?: unknown; b?: unknown } | undefined;
  const response = read.text['r'] as { h?: unknown } | undefined;
  if (typeof request !== 'object' || request === null) return undefined;
  return parityHead(request.b, read.text['hb'] === undefined ? [request.h, response?.h ?? 0] : undefined);
}

function readMember(member: Buffer, headLength: number): LostRequest | undefined {
  try {
    const head = JSON.parse(member.toString('utf8', 0, headLength)) as unknown;
    if (!Array.isArray(head) || head.length !== 2) return undefined;
    const [base, headers] = head as [unknown, unknown];
    return {
      middle: member.subarray(headLength),
      base: base === 0 ? undefined : base,
      headers: Array.isArray(headers) && headers.length === 2 ? (headers as [unknown, unknown]) : undefined,
    };
  } catch {
    // Only forged parity gets here: the caller names the loss.
    return undefined;
  }
}
