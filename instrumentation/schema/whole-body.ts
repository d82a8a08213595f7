import type { WireChunk } from './records';

/** The bytes of a body in one buffer; those of its only piece when it came in one. */
export function wholeBody(chunks: readonly WireChunk[]): Buffer {
  const [first] = chunks;
  return first !== undefined && chunks.length === 1 ? first.bytes : Buffer.concat(chunks.map((chunk) => chunk.bytes));
}
