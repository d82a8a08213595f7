import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import { Socket } from 'node:net';
import tls from 'node:tls';
import type { WireRequest } from '../../instrumentation/schema/records';
import { Turns } from '../clock/turns';
import { readConnectArguments, targetOf, type ConnectTarget } from './connect-target';
import { Connector, type ConnectRequest, type ConnectVerdict } from './connector';
import { Http1Server, type IncomingCall } from './http1-server';
import type { Responder } from './http1-responder';
import type { Link, LinkHost } from './link';
import { patchNameResolution } from './name-resolution';
import type { NetworkFault } from './network-fault';
import { Patches, type AnyFunction } from './patches';
import { sendRealRequest, type LiveAnswer } from './real-request';
import type { Timers } from './socket-timeout';
import { TlsConnector } from './tls-connector';

export type { ConnectTarget, ConnectVerdict, IncomingCall, LiveAnswer, NetworkFault, Responder };

const FIRST_LOCAL_PORT = 49_152;
const LOCAL_PORTS = 16_384;

export interface VirtualNetworkOptions {
  /** Request header by which the recorder's tap marks a call; taken off before `onCall`. */
  readonly correlationHeader: string;
  onCall(call: IncomingCall): void;
  /** Runs in the stack and context of the code that connects. */
  onConnect(target: ConnectTarget): ConnectVerdict | Promise<ConnectVerdict>;
  /** Something was refused that no connection stands for: a DNS query, an upgrade, an unknown protocol. */
  onBlocked?(what: string): void;
  /** Whether the running code has the virtual network; all code of the process without it. */
  applies?(): boolean;
  /** Where the network takes its turns, when others take theirs there too. */
  readonly turns?: Turns;
  /** Virtual timers, for the idle timeouts of sockets. */
  readonly timers?: Timers;
}

export interface VirtualNetwork {
  /** Puts the real network back and closes what stands open. */
  uninstall(): void;
  /** Grows with every byte or event that crosses a virtual socket. */
  readonly activity: number;
  readonly openConnections: number;
  /** Really makes this request on the real network (allowed live calls). */
  forward(request: WireRequest, into: LiveAnswer): { abort(): void };
  /** Runs with the real network (our own calls). */
  real<T>(fn: () => T): T;
}

/** Puts an in-memory network in place of the real one for every client in this process. */
export function installVirtualNetwork(options: VirtualNetworkOptions): VirtualNetwork {
  return new InstalledNetwork(options);
}

class InstalledNetwork implements VirtualNetwork, LinkHost {
  #activity = 0;
  #opened = 0;
  readonly #options: VirtualNetworkOptions;
  readonly #links = new Set<Link>();
  readonly #patches = new Patches();
  readonly #realContext = new AsyncLocalStorage<boolean>();
  /** The context in which the network was installed: no session, no request, not the real network. */
  readonly #ownScope = new AsyncResource('REENACTNETWORK');
  readonly turn: (step: () => void) => void;
  readonly #server: Http1Server;
  readonly #connector: Connector;

  constructor(options: VirtualNetworkOptions) {
    this.#options = options;
    this.turn = (options.turns ?? new Turns()).add;
    this.#server = new Http1Server({
      correlationHeader: options.correlationHeader,
      onCall: (call) => options.onCall(call),
      onTunnel: async (target) => 'accept' in (await options.onConnect(target)),
      onBlocked: (what) => options.onBlocked?.(what),
    });
    this.#connector = new Connector({
      host: this,
      timers: options.timers ?? { setTimeout, clearTimeout },
      onConnect: (target) => options.onConnect(target),
      onLink: (link) => this.#serve(link),
    });
    this.#patch();
  }

  get activity(): number {
    return this.#activity;
  }

  get openConnections(): number {
    return this.#links.size;
  }

  uninstall(): void {
    this.#patches.undo();

    // A connection that a client keeps would carry its next request to a network that is gone.
    for (const link of this.#links) link.client?.abandon();
  }

  real<T>(fn: () => T): T {
    return this.#realContext.run(true, fn);
  }

  forward(request: WireRequest, into: LiveAnswer): { abort(): void } {
    // What the answer sets off in the program must not inherit our way to the real network.
    const own =
      <A extends unknown[]>(step: (...args: A) => void) =>
      (...args: A): void =>
        this.#ownScope.runInAsyncScope(() => step(...args));
    return this.real(() =>
      sendRealRequest(request, {
        head: own((head) => into.head(head)),
        chunk: own((bytes) => into.chunk(bytes)),
        trailers: own((trailers) => into.trailers(trailers)),
        end: own(() => into.end()),
        error: own((error) => into.error(error)),
      }),
    );
  }

  readonly inServerScope = (step: () => void): void => {
    this.#ownScope.runInAsyncScope(step);
  };

  readonly moved = (): void => {
    this.#activity += 1;
  };

  readonly closed = (link: Link): void => {
    this.#links.delete(link);
    this.moved();

    // The server learns of it as of bytes: later, and behind what the client wrote before.
    this.turn(() => this.turn(() => this.inServerScope(() => this.#server.lost(link))));
  };

  readonly opened = (link: Link): number => {
    this.#links.add(link);
    this.#opened += 1;
    return FIRST_LOCAL_PORT + (this.#opened % LOCAL_PORTS);
  };

  /** Every client speaks HTTP/1.1 here: TLS offers nothing else. Other protocols get their own server at this point. */
  #serve(link: Link): void {
    this.inServerScope(() => this.#server.accept(link.server));
  }

  #isReal(): boolean {
    return this.#realContext.getStore() === true || this.#options.applies?.() === false;
  }

  #patch(): void {
    // Replaced: the one function through which every TCP and pipe client of Node connects. Here and not at the
    // clients, because below it they all are the same and above it all of them stay themselves. If it goes wrong, a
    // replayed program reaches the real network.
    this.#patches.replace(Socket.prototype, 'connect', (original) => this.#socketConnect(original));

    // Replaced: `tls.connect`, with a plain virtual socket that claims to be encrypted. Below it stands the native
    // handshake, which would need keys and certificates. If it goes wrong, TLS clients fail in a replay.
    const tlsConnector = new TlsConnector({
      connector: this.#connector,
      isReal: () => this.#isReal(),
      real: (fn) => this.real(fn),
      onBlocked: (what) => this.#options.onBlocked?.(what),
    });
    this.#patches.replace(tls, 'connect', (original) => tlsConnector.patch(original));
    patchNameResolution({
      isReal: () => this.#isReal(),
      onBlocked: (what) => this.#options.onBlocked?.(what),
      replace: (owner, name, make) => this.#patches.replace(owner, name, make),
      turn: this.turn,
    });
    this.#patches.publish();
  }

  #socketConnect(original: AnyFunction): AnyFunction {
    // eslint-disable-next-line @typescript-eslint/no-this-alias -- the replacement has a `this` of its own
    const network = this;
    return function connect(this: Socket, ...args: unknown[]): unknown {
      const { options, listener } = readConnectArguments(args);
      const target = targetOf(options, false);
      if (target === undefined || network.#isReal()) return original.apply(this, args);
      const connectForReal = (): unknown => network.real(() => original.apply(this, args) as unknown);
      const verdict = network.#connector.decide(target);
      if ('pass' in verdict) return connectForReal();
      const request: ConnectRequest = {
        target,
        options,
        listener,
        verdict,
        pass: () => {
          network.#connector.release(this, request);
          connectForReal();
        },
        onConnected: () => undefined,
      };
      network.#connector.connect(this, request);
      return this;
    };
  }
}
