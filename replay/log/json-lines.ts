import { createReadStream, statSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { PassThrough, pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { ReenactError, type ErrorCode } from '../../instrumentation/schema/errors';
import { isZstd, unpackZstdStream } from './zstd';

/** Longest line that is read; a string of more than half a gigabyte is beyond what the engine can hold. */
export const MAX_LINE = 256 * 1024 * 1024;

export interface TextLine {
  readonly text: string;
  /** From 1. */
  readonly number: number;
}

/**
 * Opens a file for reading, unpacked when its content is gzip or zstd (whatever its name says).
 * @throws ReenactError FILE_NOT_FOUND, LOG_INVALID when this Node cannot read zstd
 */
export async function openUnpacked(path: string): Promise<Readable> {
  let isFile: boolean;
  try {
    isFile = statSync(path).isFile();
  } catch (cause) {
    throw new ReenactError('FILE_NOT_FOUND', `${path}: no such file`, { cause });
  }
  if (!isFile) throw new ReenactError('FILE_NOT_FOUND', `${path} is not a file`);
  const magic = await firstBytes(path);
  const file = createReadStream(path, { highWaterMark: 1024 * 1024 });
  // Errors of both streams reach the reader through the last one.
  if (isZstd(magic)) return pipeline(file, unpackZstdStream(path), new PassThrough(), () => undefined);
  if (magic[0] !== 0x1f || magic[1] !== 0x8b) return file;
  return pipeline(file, createGunzip({ chunkSize: 1024 * 1024 }), new PassThrough(), () => undefined);
}

async function firstBytes(path: string): Promise<Buffer> {
  const stream = createReadStream(path, { end: 3 });
  const pieces: Buffer[] = [];
  try {
    for await (const piece of stream) pieces.push(piece as Buffer);
  } catch (cause) {
    throw new ReenactError('FILE_NOT_FOUND', `${path} cannot be read: ${(cause as Error).message}`, { cause });
  }
  return Buffer.concat(pieces);
}

/**
 * The lines of a text file, one at a time; empty ones are left out.
 * @throws ReenactError FILE_NOT_FOUND, and `invalid` for a line beyond the bound or damaged packed data
 */
export async function* readLines(path: string, invalid: ErrorCode): AsyncGenerator<TextLine> {
  const decoder = new StringDecoder('utf8');
  let pieces: string[] = [];
  let length = 0;
  let number = 1;
  for await (const chunk of readUnpacked(path, invalid)) {
    const text = decoder.write(chunk);
    let start = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      pieces.push(text.slice(start, end));
      const line = pieces.join('');
      if (line.trim() !== '') yield { text: line, number };
      pieces = [];
      length = 0;
      number += 1;
      start = end + 1;
    }
    pieces.push(text.slice(start));
    length += text.length - start;
    if (length > MAX_LINE)
      throw new ReenactError(invalid, `${path}:${number}: the line is longer than ${MAX_LINE} bytes`);
  }
  const last = pieces.join('') + decoder.end();
  if (last.trim() !== '') yield { text: last, number };
}

/**
 * The content of a file piece by piece, unpacked.
 * @throws ReenactError FILE_NOT_FOUND, and `invalid` for damaged packed data
 */
export async function* readUnpacked(path: string, invalid: ErrorCode): AsyncGenerator<Buffer> {
  const stream = await openUnpacked(path);
  try {
    for await (const chunk of stream) yield chunk as Buffer;
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code?.startsWith('Z_') || code?.startsWith('ZSTD_') || code?.startsWith('ERR_'))
      throw new ReenactError(invalid, `${path}: damaged gzip or zstd data (${message})`, { cause });
    throw new ReenactError('FILE_NOT_FOUND', `${path} cannot be read: ${message}`, { cause });
  }
}
