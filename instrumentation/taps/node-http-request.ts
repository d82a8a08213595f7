import type { ClientRequest } from 'node:http';
import type { HeaderList } from '../schema/records';

/** URL of a request of `node:http`, put together from what it keeps of it. */
export function absoluteUrl(request: ClientRequest): string {
  const { protocol, host, path } = request;
  // A request through a plain HTTP proxy names the whole URL in its request line.
  if (/^https?:\/\//i.test(path)) return path;
  return `${protocol}//${authority(request) ?? host}${path.startsWith('/') ? '' : '/'}${path}`;
}

/** `host:port` of the connection: the request does not keep the port, but the header that Node made from it does. */
function authority(request: ClientRequest): string | undefined {
  const header = requestHeaders(request).find(([name]) => name.toLowerCase() === 'host')?.[1];
  if (header === undefined) return undefined;
  const bare = header.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
  return bare.toLowerCase() === request.host.toLowerCase() ? header : undefined;
}

/** Headers in the case in which they go out. A request made with a list of headers has written them already. */
export function requestHeaders(request: ClientRequest): HeaderList {
  const written = (request as { _header?: unknown })._header;
  if (typeof written === 'string') {
    const lines = written.split('\r\n').slice(1).filter(Boolean);
    return lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]);
  }
  return request.getRawHeaderNames().flatMap((name) => {
    const value = request.getHeader(name);
    const values = Array.isArray(value) ? value : [value];
    return values.filter((item) => item !== undefined).map((item): [string, string] => [name, String(item)]);
  });
}

/** Adds a header before the head goes out, also when Node has written the head already but not sent it. */
export function addHeader(request: ClientRequest, [name, value]: readonly [string, string]): void {
  if (!request.headersSent) {
    request.setHeader(name, value);
    return;
  }
  const writing = request as { _header?: unknown; _headerSent?: unknown };
  if (typeof writing._header !== 'string' || writing._headerSent === true) return;
  writing._header = writing._header.replace(/\r\n\r\n$/, `\r\n${name}: ${value}\r\n\r\n`);
}

/** What `write` and `end` send; a callback or nothing in place of the chunk sends nothing. */
export function bodyBytes(chunk: unknown, encoding: unknown): Uint8Array | undefined {
  if (typeof chunk === 'string') return Buffer.from(chunk, isEncoding(encoding) ? encoding : 'utf8');
  return ArrayBuffer.isView(chunk) ? new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength) : undefined;
}

function isEncoding(value: unknown): value is BufferEncoding {
  return typeof value === 'string' && Buffer.isEncoding(value);
}

/** Node's flat list of raw headers as pairs. */
export function pairs(raw: readonly string[]): HeaderList {
  const list: [string, string][] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) list.push([raw[i] ?? '', raw[i + 1] ?? '']);
  return list;
}
