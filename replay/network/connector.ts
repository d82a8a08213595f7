import { isIP, Socket, type LookupFunction, type OnReadOpts } from 'node:net';
import { ClientSocket, type SocketInternals } from './client-socket';
import type { ConnectOptions, ConnectTarget } from './connect-target';
import { Link, type LinkHost } from './link';
import { addressOf, type Address } from './name-resolution';
import { networkError, type NetworkFault } from './network-fault';
import type { Timers } from './socket-timeout';

export type ConnectVerdict =
  | { readonly accept: true }
  | { readonly refuse: NetworkFault }
  /** A real connection. */
  | { readonly pass: true };

export interface ConnectorOptions {
  readonly host: LinkHost;
  readonly timers: Timers;
  onConnect(target: ConnectTarget): ConnectVerdict | Promise<ConnectVerdict>;
  /** The connection stands; something shall serve it. */
  onLink(link: Link): void;
}

export interface ConnectRequest {
  readonly target: ConnectTarget;
  readonly options: ConnectOptions;
  readonly listener: (() => void) | undefined;
  /** Made already when the caller had to know whether the connection is a real one. */
  readonly verdict: ConnectVerdict | Promise<ConnectVerdict>;
  /** The verdict, late, is a real connection. */
  pass(client: ClientSocket): void;
  /** After `connect`: the TLS handshake, if there is one. */
  onConnected(client: ClientSocket): void;
}

/** Takes a program's socket from `connect` to an in-memory link, with the events and errors of a real one. */
export class Connector {
  readonly #options: ConnectorOptions;
  readonly #clients = new WeakMap<Socket, ClientSocket>();

  constructor(options: ConnectorOptions) {
    this.#options = options;
  }

  /** The link of a virtual socket, `undefined` for any other. */
  linkOf(socket: unknown): Link | undefined {
    return socket instanceof Socket ? this.#clients.get(socket)?.link : undefined;
  }

  /** Asks what shall become of a connection. */
  decide(target: ConnectTarget): ConnectVerdict | Promise<ConnectVerdict> {
    this.#options.host.moved();
    return this.#options.onConnect(target);
  }

  connect(socket: Socket, request: ConnectRequest): void {
    const client = this.#attach(socket, request);
    const settle = (settled: ConnectVerdict): void => this.#settle(socket, { client, request, verdict: settled });
    const { verdict } = request;
    if (!('then' in verdict)) {
      client.later(() => settle(verdict));
      return;
    }
    verdict.then(settle, (error: unknown) => client.inScope(() => socket.destroy(error as Error)));
  }

  /** Lets another socket take over the client's end of a link: TLS inside a tunnel. */
  takeOver(socket: Socket, link: Link, request: ConnectRequest): void {
    link.target = request.target;
    const client = this.#wire(socket, link, request.options);
    client.later(() => this.#establish(socket, client, request));
  }

  #attach(socket: Socket, { target, options, listener }: ConnectRequest): ClientSocket {
    const internals = socket as Socket & SocketInternals;
    if (socket.destroyed) {
      // As in Node: a socket may be connected again after its end.
      internals._handle = null;
      internals._undestroy();
    }
    if (socket.write !== Socket.prototype.write) socket.write = Socket.prototype.write;
    if (listener !== undefined) socket.once('connect', listener);
    const client = this.#wire(socket, new Link(this.#options.host, target), options);
    internals.connecting = true;
    return client;
  }

  #wire(socket: Socket, link: Link, options: ConnectOptions): ClientSocket {
    const client = new ClientSocket(socket, link, {
      timers: this.#options.timers,
      address: addressOf(link.target.host).address,
      turn: (step) => this.#options.host.turn(step),
      moved: () => this.#options.host.moved(),
      onread: (options as { onread?: OnReadOpts }).onread,
    });
    this.#clients.set(socket, client);
    return client;
  }

  #settle(socket: Socket, at: { client: ClientSocket; request: ConnectRequest; verdict: ConnectVerdict }): void {
    const { client, request, verdict } = at;
    this.#options.host.moved();
    if (socket.destroyed) return;
    if ('pass' in verdict) {
      request.pass(client);
    } else if ('refuse' in verdict) {
      const { address } = addressOf(request.target.host);
      client.inScope(() => socket.destroy(networkError(verdict.refuse, request.target, address)));
    } else {
      this.#resolve(socket, request, (error, found) => {
        if (socket.destroyed) return;
        if (error !== null) {
          socket.destroy(error);
          return;
        }
        if (found !== undefined) {
          client.resolved(found.address);
          socket.emit('lookup', null, found.address, found.family, request.target.host);
        }
        client.later(() => {
          if (!socket.destroyed) this.#options.onLink(client.link);
          this.#establish(socket, client, request);
        });
      });
    }
  }

  /** The socket shall connect for real after all. */
  release(socket: Socket, { listener }: ConnectRequest): void {
    this.#clients.get(socket)?.release();
    this.#clients.delete(socket);

    // Connecting adds it again.
    if (listener !== undefined) socket.removeListener('connect', listener);
  }

  #establish(socket: Socket, client: ClientSocket, request: ConnectRequest): void {
    if (socket.destroyed) return;
    client.established();
    if (!socket.destroyed) request.onConnected(client);
  }

  /** Runs the program's own `lookup` if it has one; it may keep a cache or filter addresses. */
  #resolve(socket: Socket, request: ConnectRequest, done: (error: Error | null, found?: Address) => void): void {
    const { target, options } = request;
    if (target.path !== undefined || isIP(target.host) !== 0) {
      done(null);
      return;
    }
    const lookup = (options as { lookup?: LookupFunction }).lookup;
    const fixed = addressOf(target.host, options.family);
    if (lookup === undefined) {
      done(null, fixed);
      return;
    }
    lookup(target.host, { family: options.family ?? 0, hints: 0, all: false }, (error, address, family) => {
      // It asked a name server, which a replay refuses: the address matters to nobody.
      if (error !== null && (error as NodeJS.ErrnoException | undefined)?.code === 'REPLAY_BLOCKED') done(null, fixed);
      else if (error) done(error);
      else if (typeof address === 'string') done(null, { address, family: family === 6 ? 6 : 4 });
      else done(null, fixed);
    });
  }
}
