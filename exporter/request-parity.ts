import { crc32 } from 'node:zlib';

/** Requests of one conversation that one parity covers: one of them may be lost. */
const GROUP = 24;
/** A larger difference is not covered: its parity would double what it costs. */
export const MAX_COVERED = 256 * 1024;

/** What is needed to find the one request that is lost of a group; each field is the XOR over the requests in it. */
export interface ParityNote {
  /** Requests covered. */
  readonly n: number;
  /** Ordinals in the process of the first and the last one. */
  readonly o: readonly [number, number];
  /** Lengths of head and difference. */
  readonly l: readonly [number, number];
  /** CRC-32 of head and difference. */
  readonly c: number;
  /** Halves of the span id. */
  readonly i: readonly [number, number];
  /** Method and address, where the span that carries the parity is no exchange. */
  readonly k?: string;
}

/** One request of a group, as it counts for the parity. */
export interface ParityMember {
  readonly ordinal: number;
  readonly spanId: string;
  readonly head: Buffer;
  /** The request, or how it differs from the one before. */
  readonly middle: Buffer;
}

/** What a request builds on, and its headers where it holds them whole. */
export function parityHead(base: unknown, headers: readonly [unknown, unknown] | undefined): Buffer {
  return Buffer.from(JSON.stringify([base ?? 0, headers ?? 0]), 'utf8');
}

/** Halves of a span id as unsigned numbers. */
export const idHalves = (spanId: string): [number, number] => [
  Number.parseInt(spanId.slice(0, 8), 16) >>> 0,
  Number.parseInt(spanId.slice(8, 16), 16) >>> 0,
];

/**
 * XOR over the requests of a conversation. In a growing conversation each request builds on the one before, so one lost
 * span would take all later ones along; from the parity and the rest of its group it is restored, for a twenty-fourth of
 * its size.
 */
export class RequestParity {
  private words = new Uint32Array(0);
  private length = 0;
  private readonly note = { n: 0, o: [0, 0] as [number, number], l: [0, 0] as [number, number], c: 0 };
  private readonly id: [number, number] = [0, 0];

  get size(): number {
    return this.note.n;
  }

  get isFull(): boolean {
    return this.note.n >= GROUP;
  }

  add({ ordinal, spanId, head, middle }: ParityMember): void {
    if (middle.length > MAX_COVERED) return;
    const { note } = this;
    const member = Buffer.concat([head, middle]);
    if (note.n === 0) note.o[0] = ordinal;
    note.o[1] = ordinal;
    note.n += 1;
    note.l[0] ^= head.length;
    note.l[1] ^= middle.length;
    note.c = (note.c ^ crc32(member)) >>> 0;
    const [high, low] = idHalves(spanId);
    this.id[0] = (this.id[0] ^ high) >>> 0;
    this.id[1] = (this.id[1] ^ low) >>> 0;
    this.fold(member);
  }

  private fold(member: Buffer): void {
    const words = new Uint32Array(Math.ceil(member.length / 4));
    new Uint8Array(words.buffer).set(member);
    const [longer, shorter] = words.length > this.words.length ? [words, this.words] : [this.words, words];
    for (let at = 0; at < shorter.length; at++) longer[at] = (longer[at] ?? 0) ^ (shorter[at] ?? 0);
    this.words = longer;
    this.length = Math.max(this.length, member.length);
  }

  /** The parity so far. */
  take(): { note: ParityNote; bytes: Buffer } {
    return { note: { ...this.note, i: this.id }, bytes: Buffer.from(this.words.buffer, 0, this.length) };
  }
}
