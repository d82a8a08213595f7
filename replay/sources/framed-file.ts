import { loadOtlpProto, type OtlpProto } from '../../exporter/otlp-proto';
import type { ResourceSpan } from '../../exporter/otlp';
import { readOtlpJson } from '../../exporter/otlp-json';
import { ReenactError } from '../../instrumentation/schema/errors';
import { openUnpacked } from '../log/json-lines';

const ZSTD = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

/** Largest message of a framed file: 16 MiB. Exporters are told to send far less at once. */
const MAX_FRAME = 0xff_ffff;

/** How the Collector's file exporter wrote a file: text lines, or messages with their length before them. */
export async function formatOf(path: string): Promise<'lines' | 'framed'> {
  const stream = await openUnpacked(path);
  let head = Buffer.alloc(0);
  for await (const piece of stream) {
    head = Buffer.concat([head, piece as Buffer]);
    if (head.length >= 8) break;
  }
  stream.destroy();
  if (head.subarray(0, 4).equals(ZSTD) || head.subarray(4, 8).equals(ZSTD))
    throw new ReenactError('LOG_INVALID', `${path} is packed with zstd`, {
      hint: 'Unpack it first, or let the Collector write without compression.',
    });
  // A length below the bound, big end first, begins with a zero byte; no text does.
  return head.length >= 5 && head[0] === 0 ? 'framed' : 'lines';
}

/** Spans of a file of length-prefixed messages, protobuf or JSON. @throws ReenactError LOG_INVALID */
export async function* readFrames(path: string): AsyncGenerator<ResourceSpan[]> {
  const proto = loadOtlpProto();
  const stream = await openUnpacked(path);
  let rest: Buffer<ArrayBufferLike> = Buffer.alloc(0);
  for await (const piece of stream) {
    rest = rest.length === 0 ? (piece as Buffer) : Buffer.concat([rest, piece as Buffer]);
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

function readMessage(message: Buffer, proto: OtlpProto, path: string): ResourceSpan[] {
  if (message[0] !== 0x7b) return proto.decodeRequest(message);
  try {
    return readOtlpJson(JSON.parse(message.toString('utf8')));
  } catch (cause) {
    throw new ReenactError('LOG_INVALID', `${path} holds a message that is not JSON`, { cause });
  }
}
