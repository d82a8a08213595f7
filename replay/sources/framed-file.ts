import { loadOtlpProto, type OtlpProto } from '../../exporter/otlp-proto';
import type { ResourceSpan } from '../../exporter/otlp';
import { ReenactError } from '../../instrumentation/schema/errors';
import { readUnpacked } from '../log/json-lines';
import { isZstd, unpackZstd } from '../log/zstd';
import { readTraceDocument } from './trace-document';

/** Largest message of a framed file: 16 MiB. Exporters are told to send far less at once. */
const MAX_FRAME = 0xff_ffff;
/** Largest message once it is unpacked. */
const MAX_UNPACKED = 256 * 1024 * 1024;

/** How a file holds its messages. */
export type FileFormat = 'lines' | 'framed' | 'bare';

/**
 * How a file was written: text lines; messages with their length before them (the Collector's file exporter with
 * `format: proto` or with compression, `kcat -f '%R%s'`); or one message of protobuf (the S3 exporter's `otlp_proto`).
 */
export async function formatOf(path: string): Promise<FileFormat> {
  let head = Buffer.alloc(0);
  for await (const piece of readUnpacked(path, 'LOG_INVALID')) {
    head = Buffer.concat([head, piece]);
    if (head.length >= 16) break;
  }
  // A length below the bound, big end first, begins with a zero byte; no text does.
  if (head.length >= 5 && head[0] === 0) return 'framed';
  // Field 1 of a request, its length, and field 1 of what is in it: a line feed in text is followed by neither.
  return head[0] === 0x0a && head.subarray(2, 7).includes(0x0a) && !/^\s*[[{]/.test(head.toString('latin1'))
    ? 'bare'
    : 'lines';
}

/** Spans of a file that is one message of protobuf. @throws ReenactError LOG_INVALID */
export async function readBareMessage(path: string): Promise<ResourceSpan[]> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of readUnpacked(path, 'LOG_INVALID')) {
    pieces.push(piece);
    length += piece.length;
    if (length > MAX_UNPACKED)
      throw new ReenactError('LOG_INVALID', `${path} is one message of over ${MAX_UNPACKED} bytes`);
  }
  return loadOtlpProto().decodeRequest(Buffer.concat(pieces));
}

/** Spans of a file of length-prefixed messages, protobuf or JSON. @throws ReenactError LOG_INVALID */
export async function* readFrames(path: string): AsyncGenerator<ResourceSpan[]> {
  const proto = loadOtlpProto();
  let rest: Buffer<ArrayBufferLike> = Buffer.alloc(0);
  for await (const piece of readUnpacked(path, 'LOG_INVALID')) {
    rest = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    for (let end = frameEnd(rest, path); end <= rest.length; end = frameEnd(rest, path)) {
      yield readMessage(rest.subarray(4, end), proto, path);
      rest = rest.subarray(end);
    }
  }
  if (rest.length > 0) throw new ReenactError('LOG_INVALID', `${path} ends in the middle of a message`);
}

function frameEnd(bytes: Buffer, path: string): number {
  if (bytes.length < 4) return Infinity;
  const length = bytes.readUInt32BE(0);
  if (length > MAX_FRAME) throw new ReenactError('LOG_INVALID', `${path} has a message of ${length} bytes`);
  return length + 4;
}

/** With the Collector's older zstd each message is packed by itself. */
function readMessage(stored: Buffer, proto: OtlpProto, path: string): ResourceSpan[] {
  const message = isZstd(stored) ? unpackZstd(stored, { path, maxBytes: MAX_UNPACKED }) : stored;
  if (message[0] !== 0x7b) return proto.decodeRequest(message);
  try {
    return readTraceDocument(JSON.parse(message.toString('utf8')));
  } catch (cause) {
    throw new ReenactError('LOG_INVALID', `${path} holds a message that is not JSON`, { cause });
  }
}
