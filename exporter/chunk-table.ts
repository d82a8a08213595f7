import type { WireChunk } from '../instrumentation/schema/records';

/** Time unit of the table: a 4,096th of a millisecond, the resolution of a double that holds epoch milliseconds. */
const TICKS = 4096;

/**
 * Lengths, seq numbers and arrival times of the pieces of a body, as one text: `length.seq.time` per piece, parts by
 * commas, numbers base 36. seq and time are differences to the piece before (to the head for the first); a seq
 * difference of 1 is left out. Time is in 1/4096 ms, the resolution of epoch milliseconds as a double; `=ms` gives any other.
 */
export function encodeChunkTable(chunks: readonly WireChunk[], head: { seq: number; ms: number }): string {
  let seq = head.seq;
  let ticks = Math.round(head.ms * TICKS);
  return chunks
    .map((chunk) => {
      const step = chunk.seq - seq;
      const at = Math.round(chunk.ms * TICKS);
      const time = at / TICKS === chunk.ms ? (at - ticks).toString(36) : `=${chunk.ms}`;
      seq = chunk.seq;
      ticks = at;
      return `${chunk.bytes.length.toString(36)}.${step === 1 ? '' : step.toString(36)}.${time}`;
    })
    .join(',');
}

/** The inverse over the whole body; `undefined` when the table does not fit it. */
export function decodeChunkTable(
  table: unknown,
  body: Buffer,
  head: { seq: number; ms: number },
): WireChunk[] | undefined {
  if (typeof table !== 'string') return undefined;
  if (table === '') return body.length === 0 ? [] : undefined;
  const chunks: WireChunk[] = [];
  let seq = head.seq;
  let ticks = Math.round(head.ms * TICKS);
  let at = 0;
  for (const item of table.split(',')) {
    const match = /^([0-9a-z]+)\.(-?[0-9a-z]*)\.(.+)$/.exec(item);
    if (match === null) return undefined;
    const [, length = '', step = '', time = ''] = match;
    const end = at + parseInt(length, 36);
    const exact = time.startsWith('=') ? Number(time.slice(1)) : undefined;
    ticks = exact === undefined ? ticks + parseInt(time, 36) : Math.round(exact * TICKS);
    seq += step === '' ? 1 : parseInt(step, 36);
    if (end > body.length || !Number.isFinite(ticks) || !Number.isSafeInteger(seq)) return undefined;
    chunks.push({ seq, ms: exact ?? ticks / TICKS, bytes: body.subarray(at, end) });
    at = end;
  }
  return at === body.length ? chunks : undefined;
}
