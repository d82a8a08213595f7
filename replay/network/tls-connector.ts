import type { Socket, SocketConstructorOpts } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ClientSocket } from './client-socket';
import {
  originOf,
  readTlsArguments,
  targetOf,
  type ConnectArguments,
  type ConnectOptions,
  type ConnectTarget,
} from './connect-target';
import type { ConnectRequest, Connector } from './connector';
import type { Link } from './link';
import { networkError, type NetworkFault } from './network-fault';
import type { AnyFunction } from './patches';
import { claimTls, createTlsSocketClass, finishHandshake, wantsOnlyHttp2, type VirtualTlsSocket } from './tls-socket';

const NO_COMMON_PROTOCOL: NetworkFault = {
  code: 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL',
  message: 'The server offers no protocol that the client speaks (a replay speaks HTTP/1.1).',
};

export interface TlsConnectorOptions {
  readonly connector: Connector;
  isReal(): boolean;
  real<T>(fn: () => T): T;
  onBlocked(what: string): void;
}

/** Answers `tls.connect` with virtual sockets. */
export class TlsConnector {
  readonly #options: TlsConnectorOptions;
  readonly #TlsSocket = createTlsSocketClass();

  constructor(options: TlsConnectorOptions) {
    this.#options = options;
  }

  /** Makes the replacement of `tls.connect`. */
  patch(original: AnyFunction): AnyFunction {
    const connector = this as TlsConnector;
    return function connect(this: unknown, ...args: unknown[]): unknown {
      return connector.#options.isReal() ? original.apply(this, args) : connector.#connect(original, args);
    };
  }

  #connect(original: AnyFunction, args: unknown[]): unknown {
    const { connector, real } = this.#options;
    const given = readTlsArguments(args);
    const { options, listener } = given;
    if (options.socket !== undefined) {
      const link = connector.linkOf(options.socket);
      return link === undefined ? original(...args) : this.#secure(options.socket as Socket, link, given);
    }
    const target = targetOf(options, true);
    if (target === undefined) return original(...args);
    const verdict = connector.decide(target);
    if ('pass' in verdict) return real(() => original(...args) as unknown);
    const socket = this.#createSocket(options, listener);
    connector.connect(socket, {
      target,
      options,
      listener: undefined,
      verdict,
      pass: (client) => this.#bridge(client, () => original({ ...options, timeout: 0 }) as Duplex),
      onConnected: (client) => this.#shakeHands(socket, client, options),
    });
    return socket;
  }

  /** TLS inside a connection of ours, such as a tunnel: the new socket takes it over, and both end together. */
  #secure(outer: Socket, link: Link, { options, listener }: ConnectArguments): VirtualTlsSocket {
    const socket = this.#createSocket({ host: link.target.host, ...options }, listener);
    const takeOver = (): void => {
      const request: ConnectRequest = {
        target: { ...link.target, tls: true },
        options,
        listener: undefined,
        verdict: { accept: true },
        pass: () => undefined,
        onConnected: (client) => this.#shakeHands(socket, client, options),
      };
      this.#options.connector.takeOver(socket, link, request);
    };
    socket.on('close', () => outer.destroy());
    outer.on('close', () => socket.destroy());
    Object.assign(socket, { connecting: true });
    if (outer.connecting) outer.once('connect', takeOver);
    else takeOver();
    return socket;
  }

  #createSocket(options: ConnectOptions, listener: (() => void) | undefined): VirtualTlsSocket {
    const { highWaterMark, signal, allowHalfOpen, timeout } = options as SocketConstructorOpts &
      ConnectOptions & { highWaterMark?: number };
    const given = Object.entries({ highWaterMark, signal, allowHalfOpen }).filter(([, value]) => value !== undefined);
    const socket = new this.#TlsSocket(Object.fromEntries(given));
    claimTls(socket, options);
    if (timeout !== undefined) socket.setTimeout(timeout);
    if (listener !== undefined) socket.once('secureConnect', listener);
    return socket;
  }

  #shakeHands(socket: VirtualTlsSocket, client: ClientSocket, options: ConnectOptions): void {
    if (!wantsOnlyHttp2(options)) {
      client.later(() => finishHandshake(socket, options));
      return;
    }
    const target: ConnectTarget = client.link.target;
    this.#options.onBlocked(`HTTP/2 to ${originOf(target, undefined)}`);
    socket.destroy(networkError(NO_COMMON_PROTOCOL, target, target.host));
  }

  /** The program holds a virtual socket already when the verdict is a real connection: joins the two. */
  #bridge(client: ClientSocket, connect: () => Duplex): void {
    const { server } = client.link;
    const real = this.#options.real(connect);
    real.once('secureConnect', () => client.later(() => client.established()));
    real.on('error', (error) => client.later(() => client.abandon(error)));
    real.on('close', () => server.end());
    server.on('close', () => real.destroy());
    real.pipe(server);
    server.pipe(real);
  }
}
