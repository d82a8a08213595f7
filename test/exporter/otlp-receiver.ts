import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { parseOtlpJson } from '../../exporter/otlp-json';
import { loadOtlpProto } from '../../exporter/otlp-proto';
import type { ResourceSpan } from '../../exporter/otlp';

export interface Receiver {
  readonly url: string;
  readonly spans: ResourceSpan[];
  readonly posts: { bytes: number; headers: http.IncomingHttpHeaders; remotePort: number | undefined }[];
  stop(): Promise<void>;
}

/** How the receiver answers the n-th post (from 0); `undefined`: it takes it. */
export type Answer = (
  n: number,
  bytes: number,
) => { status: number; body?: string; headers?: http.OutgoingHttpHeaders } | 'hang' | undefined;

/** A real OTLP/HTTP receiver that keeps what it takes. */
export async function startReceiver(answer: Answer = () => undefined): Promise<Receiver> {
  const spans: ResourceSpan[] = [];
  const posts: Receiver['posts'] = [];
  const server = http.createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const raw = Buffer.concat(parts);
      const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw;
      posts.push({ bytes: body.length, headers: request.headers, remotePort: request.socket.remotePort });
      const given = answer(posts.length - 1, body.length);
      if (given === 'hang') return;
      const json = request.headers['content-type'] === 'application/json';
      if (given === undefined || given.status < 300) {
        spans.push(...(json ? parseOtlpJson(body.toString()) : loadOtlpProto().decodeRequest(body)));
      }
      response.writeHead(given?.status ?? 200, { 'content-type': request.headers['content-type'], ...given?.headers });
      response.end(given?.body ?? (json ? '{}' : ''));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`,
    spans,
    posts,
    stop: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
