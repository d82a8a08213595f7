import { EventEmitter } from 'node:events';
import { Server, type IncomingMessage, type ServerResponse } from 'node:http';
import type { HeaderList, WireRequest } from '../../instrumentation/schema/records';
import { originOf, type ConnectTarget } from './connect-target';
import { Http1Responder, type PieceSink, type Responder } from './http1-responder';
import type { Link, Piece, ServerEnd } from './link';

/** One request that reached the in-process server, whole. */
export interface IncomingCall {
  /** Absolute URL; raw headers without the correlation header. */
  readonly request: WireRequest;
  readonly correlation: string | undefined;
  readonly responder: Responder;
  /** The client gave up while it was still sending; `request.body` is what had arrived. */
  readonly incomplete?: true;
}

export interface Http1ServerOptions {
  readonly correlationHeader: string;
  onCall(call: IncomingCall): void;
  /** A client asks a proxy for a tunnel, and no recorded exchange stands behind it. */
  onTunnel(target: ConnectTarget): Promise<boolean> | boolean;
  onBlocked(what: string): void;
}

/** Marks the server, so that taps and instrumentations of inbound requests can tell it from the program's own. */
export const VIRTUAL_SERVER = Symbol.for('reenact.virtual-server');

const MAX_HEADER_BYTES = 1 << 20;
const TUNNEL_OPEN = { status: 200, statusText: 'Connection established', headers: [] };

/**
 * A real `http.Server` without a port: it parses what the clients of the program send. Answers are written past its
 * response objects, because those add, sort and validate.
 */
export class Http1Server {
  readonly #options: Http1ServerOptions;
  readonly #server: Server;
  readonly #connections = new WeakMap<Link, ResponseQueue>();

  constructor(options: Http1ServerOptions) {
    this.#options = options;

    // It never listens, so Node starts none of the server's interval timers; the others are switched off.
    this.#server = new Server({
      maxHeaderSize: MAX_HEADER_BYTES,
      requireHostHeader: false,
      keepAliveTimeout: 0,
      requestTimeout: 0,
      headersTimeout: 0,
    });
    this.#server.timeout = 0;
    this.#server.maxHeadersCount = 0;
    Object.assign(this.#server, { [VIRTUAL_SERVER]: true, httpAllowHalfOpen: true });

    // Instrumentations of HTTP servers wrap `emit` of the class: this server must not show up in the program's traces.
    Object.defineProperty(this.#server, 'emit', { value: EventEmitter.prototype.emit });
    this.#listen();
  }

  /** Serves a connection, or goes on with one on which a tunnel was opened. */
  accept(end: ServerEnd): void {
    if (!this.#connections.has(end.link)) this.#connections.set(end.link, new ResponseQueue(end.link));
    this.#server.emit('connection', end);
  }

  /** The client of this link is gone. */
  lost(link: Link): void {
    this.#connections.get(link)?.lost();
  }

  #listen(): void {
    const server = this.#server;
    const onRequest = (request: IncomingMessage, response: ServerResponse): void =>
      this.#onRequest(request, response, false);
    server.on('request', onRequest);
    server.on('checkExpectation', onRequest);
    server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) =>
      this.#onRequest(request, response, true),
    );
    server.on('connect', (request: IncomingMessage, end: ServerEnd, head: Buffer) =>
      this.#onConnect(request, end, head),
    );
    server.on('clientError', (error: NodeJS.ErrnoException, end: unknown) => {
      const { link } = end as ServerEnd;
      if (!link.open) return;
      this.#options.onBlocked(`${protocolOf(error)} to ${originOf(link.target, undefined)}`);
      link.sendDown({ kind: 'break', fault: { code: 'ECONNRESET' } });
    });
  }

  #onRequest(request: IncomingMessage, response: ServerResponse, continues: boolean): void {
    const { link } = request.socket as unknown as ServerEnd;
    const queue = this.#connections.get(link);
    if (queue === undefined) return;
    const responder = this.#createResponder(link, request, () => settle(response));
    const body: Buffer[] = [];
    const hand = (incomplete: boolean): void => {
      request.off('close', onClose);
      this.#options.onCall({
        ...this.#wireRequest(link, request, Buffer.concat(body)),
        responder,
        ...(incomplete ? { incomplete: true as const } : {}),
      });
    };
    const onClose = (): void => hand(true);
    request.on('data', (bytes: Buffer) => body.push(bytes));
    request.on('end', () => hand(false));
    request.on('close', onClose);

    // The parser reports a broken upload as an error of the request; `close` follows and says all we need.
    request.on('error', () => undefined);
    if (continues) responder.head({ status: 100, statusText: 'Continue', headers: [] });
  }

  /** A tunnel through a proxy. What goes through it is served here too, as connections to the tunnel's target. */
  #onConnect(request: IncomingMessage, end: ServerEnd, head: Buffer): void {
    const { link } = end;
    const target = tunnelTarget(request.url ?? '');
    const responder = this.#createResponder(link, request, ({ status }) => {
      if (status === undefined || status >= 300) return;
      link.target = target;
      if (head.length > 0) end.unshift(head);
      this.accept(end);
    });
    const { request: wire, correlation } = this.#wireRequest(link, request, Buffer.alloc(0));
    if (correlation !== undefined) {
      this.#options.onCall({ request: wire, correlation, responder });
      return;
    }
    void Promise.resolve(this.#options.onTunnel(target)).then((open) => {
      if (open) responder.head(TUNNEL_OPEN);
      else responder.destroy();
    });
  }

  #createResponder(
    link: Link,
    request: IncomingMessage,
    onFinished: (responder: Http1Responder) => void,
  ): Http1Responder {
    const queue = this.#connections.get(link) as ResponseQueue;
    const lastOnConnection = isLastOnConnection(request);
    const slot = queue.open(() => onFinished(responder));
    const responder = new Http1Responder(
      link,
      {
        method: request.method ?? 'GET',
        lastOnConnection,
        onUpgrade: () =>
          this.#options.onBlocked(
            `${request.headers.upgrade ?? 'another protocol'} over ${originOf(link.target, request.headers.host)}${request.url ?? ''}`,
          ),
      },
      slot,
    );
    slot.responder = responder;
    return responder;
  }

  #wireRequest(
    link: Link,
    request: IncomingMessage,
    body: Buffer,
  ): { request: WireRequest; correlation: string | undefined } {
    const headers: [string, string][] = [];
    let correlation: string | undefined;
    for (let at = 0; at + 1 < request.rawHeaders.length; at += 2) {
      const name = request.rawHeaders[at] as string;
      const value = request.rawHeaders[at + 1] as string;
      if (name.toLowerCase() === this.#options.correlationHeader.toLowerCase()) correlation = value;
      else headers.push([name, value]);
    }
    const path = request.url ?? '/';
    const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(path) ? path : originOf(link.target, request.headers.host) + path;
    const list: HeaderList = headers;
    return { request: { method: request.method ?? 'GET', url, headers: list, body }, correlation };
  }
}

/** Tells Node's server that this answer is out, so that it takes the next request of the connection in hand. */
function settle(response: ServerResponse): void {
  response.emit('finish');
}

/** The `connection` of a CONNECT is about the proxy; what it opens is a connection of its own. */
function isLastOnConnection(request: IncomingMessage): boolean {
  if (request.method === 'CONNECT') return false;
  const connection = request.headers.connection ?? '';
  return /\bclose\b/i.test(connection) || (request.httpVersionMinor === 0 && !/\bkeep-alive\b/i.test(connection));
}

function tunnelTarget(authority: string): ConnectTarget {
  const colon = authority.lastIndexOf(':');
  const port = Number(authority.slice(colon + 1));
  return { host: authority.slice(0, colon).replace(/^\[|\]$/g, ''), port, tls: port === 443 };
}

function protocolOf(error: NodeJS.ErrnoException): string {
  return error.code === 'HPE_PAUSED_H2_UPGRADE' ? 'HTTP/2' : 'a protocol other than HTTP/1.1';
}

/** Answers leave a connection in the order of its requests, whatever the order in which they are given. */
class ResponseQueue {
  readonly #link: Link;
  readonly #slots: Slot[] = [];
  /** Answered in full, but not all of it has reached the client yet. */
  #onTheWay: Slot[] = [];

  constructor(link: Link) {
    this.#link = link;
  }

  open(onFinished: () => void): Slot {
    const slot = new Slot(this, onFinished);
    this.#slots.push(slot);
    return slot;
  }

  isFirst(slot: Slot): boolean {
    return this.#slots[0] === slot;
  }

  write(piece: Piece): void {
    this.#link.sendDown(piece);
  }

  advance(): void {
    while (this.#slots[0]?.isFinished === true) {
      const done = this.#slots.shift() as Slot;
      this.#onTheWay = [...this.#onTheWay.filter(({ responder }) => responder?.delivered === false), done];
      done.onFinished();
      this.#slots[0]?.flush();
    }
  }

  lost(): void {
    for (const slot of [...this.#onTheWay, ...this.#slots]) slot.responder?.lost();
  }
}

class Slot implements PieceSink {
  responder: Http1Responder | undefined;
  isFinished = false;
  readonly onFinished: () => void;
  readonly #queue: ResponseQueue;
  #held: Piece[] = [];

  constructor(queue: ResponseQueue, onFinished: () => void) {
    this.#queue = queue;
    this.onFinished = onFinished;
  }

  send(piece: Piece): void {
    if (this.#queue.isFirst(this)) this.#queue.write(piece);
    else this.#held.push(piece);
  }

  finished(): void {
    this.isFinished = true;
    this.#queue.advance();
  }

  flush(): void {
    for (const piece of this.#held) this.#queue.write(piece);
    this.#held = [];
  }
}
