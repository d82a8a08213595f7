import type * as Zlib from 'node:zlib';
import type { HeaderList } from '../schema/records';

/** Largest decoded body. A recording is untrusted input, and 1 MB of gzip can stand for 1 GB. */
export const MAX_DECODED_BYTES = 256 * 1024 * 1024;

type Decode = (bytes: Buffer, maxBytes: number) => Buffer;

/** Loaded at the first compressed body: most programs never have one. */
const zlib = (): typeof Zlib => process.getBuiltinModule('node:zlib');

/** Flushing at the end instead of demanding the end mark gives what decodes of a stream that was cut. */
const zlibOptions = (maxOutputLength: number): Zlib.ZlibOptions => ({
  maxOutputLength,
  finishFlush: zlib().constants.Z_SYNC_FLUSH,
});

/** The low nibble of a zlib header is 8 (RFC 1950); some servers send `deflate` without that header. */
const inflate: Decode = (bytes, max) =>
  ((bytes[0] ?? 0) & 0x0f) === 8
    ? zlib().inflateSync(bytes, zlibOptions(max))
    : zlib().inflateRawSync(bytes, zlibOptions(max));

const gunzip: Decode = (bytes, max) => zlib().gunzipSync(bytes, zlibOptions(max));

const unbrotli: Decode = (bytes, max) =>
  zlib().brotliDecompressSync(bytes, {
    maxOutputLength: max,
    finishFlush: zlib().constants.BROTLI_OPERATION_FLUSH,
  });

/** Node 22.15 and newer have it; the types of the oldest supported Node do not. */
interface MaybeZstd {
  readonly zstdDecompressSync?: (bytes: Buffer, options: object) => Buffer;
}

const unzstd: Decode = (bytes, max) => {
  const decompress = (zlib() as MaybeZstd).zstdDecompressSync;
  if (!decompress) throw new Error('This Node has no zstd');
  return decompress(bytes, { maxOutputLength: max, finishFlush: 1 /* ZSTD_e_flush */ });
};

const CODINGS: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  ['gzip', gunzip],
  ['x-gzip', gunzip],
  ['deflate', inflate],
  ['br', unbrotli],
  ['zstd', unzstd],
  ['identity', (bytes) => bytes],
]);

/** The content codings of a message, in the order in which they were applied. */
export function contentCodings(headers: HeaderList): string[] {
  return headers
    .filter(([name]) => name.toLowerCase() === 'content-encoding')
    .flatMap(([, value]) => value.split(','))
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '');
}

/**
 * Undoes the content coding of a body; a cut body gives what decodes. Undefined when a coding is unknown to this Node,
 * the bytes are damaged, or the result is larger than `maxBytes`.
 */
export function decodeContent(
  bytes: Buffer,
  headers: HeaderList,
  maxBytes: number = MAX_DECODED_BYTES,
): Buffer | undefined {
  const codings = contentCodings(headers);
  // No client applies more than two; a long list only multiplies work.
  if (codings.length > 4) return undefined;
  let decoded = bytes;
  for (const coding of codings.reverse()) {
    try {
      const decode = CODINGS.get(coding);
      if (!decode) return undefined;
      decoded = decoded.length === 0 ? decoded : decode(decoded, maxBytes);
    } catch {
      // Traces of other tools keep the header beside a body that is decoded already.
      return beginsLikeText(bytes) ? bytes : undefined;
    }
  }
  return decoded.length > maxBytes ? undefined : decoded;
}

function beginsLikeText(bytes: Buffer): boolean {
  return /^\s*(?:[{[:]|data:|event:)/.test(bytes.subarray(0, 64).toString('latin1'));
}
