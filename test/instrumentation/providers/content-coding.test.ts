import * as zlib from 'node:zlib';
import { decodeContent } from '../../../instrumentation/providers/content-coding';

const text = Buffer.from(JSON.stringify({ say: 'Grüß Gott 🌤 '.repeat(400), random: zlib.crc32?.('x') ?? 0 }));
const encoded = (value: string): [string, string][] => [['Content-Encoding', value]];

const zstd = (zlib as { zstdCompressSync?: (bytes: Buffer) => Buffer }).zstdCompressSync;
const codings: [string, (bytes: Buffer) => Buffer][] = [
  ['gzip', zlib.gzipSync],
  ['x-gzip', zlib.gzipSync],
  ['deflate', zlib.deflateSync],
  ['deflate', zlib.deflateRawSync],
  ['br', zlib.brotliCompressSync],
  ...(zstd ? [['zstd', zstd] as [string, (bytes: Buffer) => Buffer]] : []),
];

describe('decodeContent', () => {
  it.each(codings)('undoes %s', (name, compress) => {
    expect(decodeContent(compress(text), encoded(name))).toEqual(text);
  });

  it('undoes several codings, in one header or several', () => {
    const twice = zlib.brotliCompressSync(zlib.gzipSync(text));
    expect(decodeContent(twice, encoded('gzip, br'))).toEqual(text);
    expect(decodeContent(twice, [...encoded('gzip'), ...encoded('BR')])).toEqual(text);
  });

  it('leaves a body without coding alone', () => {
    expect(decodeContent(text, [['content-type', 'application/json']])).toBe(text);
    expect(decodeContent(text, encoded('identity'))).toBe(text);
  });

  it.each(codings)('gives the start of a %s body that was cut, at every offset', (name, compress) => {
    const bytes = compress(text);
    for (let cut = 0; cut < bytes.length; cut += 1) {
      const part = decodeContent(bytes.subarray(0, cut), encoded(name));
      expect(part && text.subarray(0, part.length).equals(part)).toBe(true);
    }
  });

  it('gives what had been flushed of a stream that was cut', async () => {
    const gzip = zlib.createGzip();
    const pieces: Buffer[] = [];
    gzip.on('data', (piece: Buffer) => pieces.push(piece));
    gzip.write('data: first\n\n');
    await new Promise<void>((resolve) => gzip.flush(zlib.constants.Z_SYNC_FLUSH, resolve));
    const sent = Buffer.concat(pieces);
    gzip.destroy();
    expect(decodeContent(sent, encoded('gzip'))?.toString()).toBe('data: first\n\n');
  });

  it('refuses a body that decodes to more than the limit', () => {
    const bomb = zlib.gzipSync(Buffer.alloc(5_000_000));
    expect(bomb.length).toBeLessThan(10_000);
    expect(decodeContent(bomb, encoded('gzip'), 1_000_000)).toBeUndefined();
    expect(decodeContent(bomb, encoded('gzip'), 5_000_000)).toHaveLength(5_000_000);
  });

  it('refuses an unknown coding and damaged bytes', () => {
    expect(decodeContent(text, encoded('snappy'))).toBeUndefined();
    expect(decodeContent(Buffer.from([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]), encoded('gzip'))).toBeUndefined();
    expect(decodeContent(text, encoded('gzip,gzip,gzip,gzip,gzip'))).toBeUndefined();
  });

  it('takes a body that is decoded already although its header stayed', () => {
    expect(decodeContent(text, encoded('gzip'))).toBe(text);
  });
});
