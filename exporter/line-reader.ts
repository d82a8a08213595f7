import { createReadStream } from 'node:fs';

/** One line of a file. */
export interface FileLine {
  readonly text: string;
  /** 1-based. */
  readonly number: number;
  /** Offset of the byte after its line feed. */
  readonly end: number;
  /** False for a last line without a line feed. */
  readonly complete: boolean;
}

/**
 * The lines of a file, split at line feeds only: `node:readline` also splits at U+2028, which JSON leaves unescaped.
 */
export async function* readFileLines(file: string, start = 0): AsyncGenerator<FileLine> {
  let parts: Buffer[] = [];
  let number = 0;
  let offset = start;
  for await (const data of createReadStream(file, { start, highWaterMark: 256 * 1024 })) {
    const chunk = data as Buffer;
    let at = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, at)) {
      parts.push(chunk.subarray(at, end));
      at = end + 1;
      number += 1;
      yield { text: Buffer.concat(parts).toString('utf8'), number, end: offset + at, complete: true };
      parts = [];
    }
    parts.push(chunk.subarray(at));
    offset += chunk.length;
  }
  const rest = Buffer.concat(parts);
  if (rest.length > 0) yield { text: rest.toString('utf8'), number: number + 1, end: offset, complete: false };
}
