import { EventEmitter } from 'node:events';
import {
  Agent as HttpAgent,
  ClientRequest,
  OutgoingMessage,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { HeaderList, WireRequest } from '../../instrumentation/schema/records';
import type { ResponseHead } from './http1-responder';

/** Where a live answer goes, in pieces as it comes. */
export interface LiveAnswer {
  head(head: ResponseHead): void;
  /** Transfer coding undone, content coding kept. */
  chunk(bytes: Buffer): void;
  trailers(trailers: HeaderList): void;
  end(): void;
  error(error: NodeJS.ErrnoException): void;
}

/**
 * Makes this request for real. `ClientRequest` is constructed directly, with an agent of its own, and used past the
 * methods of its class: those may be tapped, which would record the call twice and mark it with the correlation header,
 * and a kept connection must never be shared with the program.
 */
export function sendRealRequest(request: WireRequest, into: LiveAnswer): { abort(): void } {
  const url = new URL(request.url);
  const secure = url.protocol === 'https:';
  const agent = secure ? new HttpsAgent({ keepAlive: false }) : new HttpAgent({ keepAlive: false });
  const options: RequestOptions = {
    protocol: url.protocol,
    hostname: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (secure ? 443 : 80) : Number(url.port),
    path: url.pathname + url.search,
    method: request.method,
    // As an array, so that order, case and duplicates stay as the program's client wrote them.
    headers: request.headers.flatMap(([name, value]) => [name, value]) as unknown as NonNullable<
      RequestOptions['headers']
    >,
    agent,
  };
  const outgoing = new ClientRequest(options as unknown as URL);
  Object.defineProperty(outgoing, 'emit', { value: EventEmitter.prototype.emit });
  let over = false;
  const once = (step: () => void): void => {
    if (over) return;
    over = true;
    step();
  };
  const fail = (error: NodeJS.ErrnoException): void => once(() => into.error(error));
  outgoing.on('error', fail);
  outgoing.on('response', (response: IncomingMessage) => {
    into.head({
      status: response.statusCode ?? 0,
      statusText: response.statusMessage ?? '',
      headers: pairs(response.rawHeaders),
    });
    response.on('data', (bytes: Buffer) => into.chunk(bytes));
    response.on('error', fail);
    response.on('end', () => {
      once(() => {
        const trailers = pairs(response.rawTrailers);
        if (trailers.length > 0) into.trailers(trailers);
        into.end();
      });
    });
  });
  (OutgoingMessage.prototype as unknown as Endable).end.call(outgoing, request.body);
  return {
    abort: () => {
      over = true;
      outgoing.destroy();
    },
  };
}

/** `end` with its optional arguments left out. */
interface Endable {
  end(body: Buffer): unknown;
}

function pairs(raw: readonly string[]): HeaderList {
  return Array.from(
    { length: raw.length >> 1 },
    (_, at) => [raw[2 * at] as string, raw[2 * at + 1] as string] as const,
  );
}
