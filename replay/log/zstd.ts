import { type Duplex } from 'node:stream';
import * as zlib from 'node:zlib';
import { ReenactError } from '../../instrumentation/schema/errors';

/** How a zstd frame begins. */
const MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

/** The part of Node's zlib that versions from 22.15 on have. */
interface ZstdOfNode {
  readonly createZstdDecompress?: (options: { chunkSize: number }) => Duplex;
  readonly zstdDecompressSync?: (bytes: Buffer, options: { maxOutputLength: number }) => Buffer;
}

export const isZstd = (head: Buffer): boolean => head.subarray(0, 4).equals(MAGIC);

/** A stream that unpacks zstd. @throws ReenactError LOG_INVALID where Node has none */
export function unpackZstdStream(path: string): Duplex {
  const { createZstdDecompress } = zlib as ZstdOfNode;
  if (createZstdDecompress === undefined) throw missing(path);
  return createZstdDecompress({ chunkSize: 1024 * 1024 });
}

/** Unpacks one message. @throws ReenactError LOG_INVALID when it is damaged, too large, or Node has no zstd */
export function unpackZstd(bytes: Buffer, { path, maxBytes }: { path: string; maxBytes: number }): Buffer {
  const { zstdDecompressSync } = zlib as ZstdOfNode;
  if (zstdDecompressSync === undefined) throw missing(path);
  try {
    return zstdDecompressSync(bytes, { maxOutputLength: maxBytes });
  } catch (cause) {
    const reason = (cause as Error).message;
    throw new ReenactError('LOG_INVALID', `${path} holds a zstd message that cannot be unpacked: ${reason}`, { cause });
  }
}

function missing(path: string): ReenactError {
  return new ReenactError(
    'LOG_INVALID',
    `${path} is packed with zstd, which Node ${process.versions.node} cannot read`,
    {
      hint: 'Use Node 22.15 or newer, or unpack it first, or let the Collector write without compression.',
    },
  );
}
