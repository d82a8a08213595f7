import { AsyncResource } from 'node:async_hooks';
import { isIPv6, Socket, type OnReadOpts } from 'node:net';
import type { Link, ClientEnd } from './link';
import { networkError, type NetworkFault } from './network-fault';
import { SocketTimeout, type Timers } from './socket-timeout';

const OWN_ADDRESS = '127.0.0.1';

/** What Node's `net.Socket` expects of the thing it drives. Only what is called on Node 20 to 24 stands here. */
interface SocketHandle {
  reading: boolean;
  bytesRead: number;
  bytesWritten: number;
  close(done?: () => void): void;
  [method: string]: unknown;
}

/** The parts of `net.Socket` that Node's own code leaves open to handles. */
export interface SocketInternals {
  _handle: SocketHandle | null;
  connecting: boolean;
  _undestroy(): void;
  _writeGeneric(...args: GenericWrite): void;
}

type GenericWrite = [many: boolean, data: unknown, encoding: string, done: (error?: Error) => void];

interface WriteRequest {
  readonly chunk: string | Uint8Array;
  readonly encoding: BufferEncoding;
}

export interface ClientSocketOptions {
  readonly timers: Timers;
  /** The address that the name of the target stands for, unless the program resolves it by itself. */
  readonly address: string;
  readonly turn: (step: () => void) => void;
  readonly moved: () => void;
  readonly onread?: OnReadOpts | undefined;
}

/**
 * Drives a real `net.Socket`, the one that the program holds, from an in-memory link.
 *
 * Replaced, on this one instance: the handle, by an object that owns no resource of the system; `_writeGeneric`,
 * because Node's own talks to native handles only; `setTimeout`, whose timers are internal to Node; `read`, to learn
 * when the program has taken a piece. Everything else is Node's own code, which is why it behaves like Node's.
 * If the internals change, a connection of a replay fails; recordings are not touched.
 */
export class ClientSocket implements ClientEnd {
  readonly #socket: Socket & SocketInternals;
  readonly #options: ClientSocketOptions;
  readonly #timeout: SocketTimeout;
  readonly #handle: SocketHandle;
  #link: Link;
  #address: string;
  #scope = new AsyncResource('TCPWRAP');

  constructor(socket: Socket, link: Link, options: ClientSocketOptions) {
    this.#socket = socket as Socket & SocketInternals;
    this.#link = link;
    this.#options = options;
    this.#address = options.address;
    this.#timeout = new SocketTimeout(socket, options.timers);
    this.#handle = this.#createHandle();
    link.client = this;
    this.#install();
  }

  get link(): Link {
    return this.#link;
  }

  inScope(step: () => void): void {
    this.#scope.runInAsyncScope(step);
  }

  /** Runs a step in a turn of its own, in the context of the program's request. */
  later(step: () => void): void {
    this.#options.turn(() => {
      this.#options.moved();
      this.inScope(step);
    });
  }

  unread(): number {
    return this.#socket.readableLength;
  }

  receive(bytes: Buffer): void {
    this.#handle.bytesRead += bytes.length;
    this.#timeout.refresh();
    const { onread } = this.#options;
    if (onread === undefined) {
      this.#socket.push(bytes);
      return;
    }
    for (let at = 0; at < bytes.length;) {
      const buffer = typeof onread.buffer === 'function' ? onread.buffer() : onread.buffer;
      const size = bytes.copy(buffer, 0, at);
      onread.callback(size, buffer);
      at += size;
    }
  }

  end(): void {
    this.#socket.push(null);
    this.#socket.read(0);
  }

  fail(fault: NetworkFault): void {
    this.#socket.destroy(networkError(fault, this.#link.target, this.#address));
  }

  /** The connection could not be made, or is lost. */
  abandon(error?: Error): void {
    this.#socket.destroy(error);
  }

  /** The name has this address. */
  resolved(address: string): void {
    this.#address = address;
  }

  /** The connection stands: says so as Node does. */
  established(): void {
    const socket = this.#socket;
    socket.connecting = false;
    this.#timeout.refresh();
    socket.emit('connect');
    socket.emit('ready');
    if (!socket.destroyed && !socket.isPaused()) socket.read(0);
    this.#link.pump();
  }

  /** Gives up the socket before a connection was made, so that a real one can be. */
  release(): void {
    this.#socket._handle = null;
    this.#socket.connecting = false;
    this.#timeout.clear();
    for (const name of ['_writeGeneric', 'setTimeout', '_unrefTimer', 'read', 'resetAndDestroy']) {
      Reflect.deleteProperty(this.#socket, name);
    }
    if ((this.#socket.timeout ?? 0) > 0) this.#socket.setTimeout(this.#socket.timeout as number);
  }

  #install(): void {
    const socket = this.#socket;
    const before = socket.timeout ?? 0;

    // Set by `net.connect` on Node's own timers, before anybody knew that this socket is virtual.
    if (before > 0) Socket.prototype.setTimeout.call(socket, 0);
    socket._handle = this.#handle;
    const methods = {
      _writeGeneric: (...args: GenericWrite) => this.#writeGeneric(args),
      setTimeout: (ms: number, listener?: () => void) => this.#setTimeout(ms, listener),
      _unrefTimer: () => this.#timeout.refresh(),
      read: (size?: number) => this.#read(size),
      resetAndDestroy: () => socket.destroy(),
    };
    for (const [name, value] of Object.entries(methods)) {
      Object.defineProperty(socket, name, { value, writable: true, configurable: true, enumerable: false });
    }
    if (before > 0) socket.setTimeout(before);
  }

  #read(size?: number): unknown {
    const data: unknown =
      size === undefined ? Socket.prototype.read.call(this.#socket) : Socket.prototype.read.call(this.#socket, size);
    if (data !== null) this.#link.pump();
    return data;
  }

  #setTimeout(ms: number, listener?: () => void): Socket {
    const socket = this.#socket;

    // Node's own checks the arguments and keeps `timeout`; with 0 it starts no timer of its own.
    Socket.prototype.setTimeout.call(socket, 0);
    if (ms === 0) {
      this.#timeout.clear();
      if (listener !== undefined) socket.removeListener('timeout', listener);
      return socket;
    }
    Socket.prototype.setTimeout.call(socket, ms, listener);
    const { timeout } = socket;
    Socket.prototype.setTimeout.call(socket, 0);
    Object.assign(socket, { timeout });
    this.#timeout.set(ms);
    return socket;
  }

  #writeGeneric(args: GenericWrite): void {
    const socket = this.#socket;
    const [many, data, encoding, done] = args;
    if (socket.connecting || socket._handle === null) {
      // Node's own waits for the connection, then comes back here; without one it makes the error.
      (Socket.prototype as unknown as SocketInternals)._writeGeneric.apply(socket, args);
      return;
    }
    const requests = many ? (data as WriteRequest[]) : [{ chunk: data, encoding } as WriteRequest];

    // Copied: the program may use its buffer again as soon as the write is done.
    const bytes = Buffer.concat(
      requests.map(({ chunk, encoding: of }) => (typeof chunk === 'string' ? Buffer.from(chunk, of) : chunk)),
    );
    this.#handle.bytesWritten += bytes.length;
    this.#timeout.refresh();
    this.#link.sendUp(bytes);
    done();
  }

  #createHandle(): SocketHandle {
    const nothing = (): number => 0;
    const handle: SocketHandle = {
      reading: false,
      bytesRead: 0,
      bytesWritten: 0,
      fd: -1,
      writeQueueSize: 0,
      isStreamBase: false,
      ref: nothing,
      unref: nothing,
      hasRef: () => false,
      readStop: nothing,
      readStart: nothing,
      setNoDelay: nothing,
      setKeepAlive: nothing,
      setBlocking: nothing,
      setTypeOfService: nothing,
      getTypeOfService: nothing,
      getAsyncId: () => this.#scope.asyncId(),
      getProviderType: () => 0,
      // A kept connection serves the next request in the context of that request.
      asyncReset: () => {
        this.#scope = new AsyncResource('TCPWRAP');
      },
      getpeername: (out: object) => this.#name(out, this.#address, this.#link.target.port),
      getsockname: (out: object) => this.#name(out, OWN_ADDRESS, this.#link.localPort),
      shutdown: (request: { callback(): void }) => {
        this.#link.endUp();
        this.later(() => request.callback());
        return 0;
      },
      close: (done?: () => void) => {
        this.#timeout.clear();
        this.#link.closeUp();
        if (done !== undefined) this.later(done);
      },
    };
    Object.setPrototypeOf(handle, null);
    return handle;
  }

  #name(out: object, address: string, port: number): number {
    if (this.#link.target.path === undefined) {
      Object.assign(out, { address, port, family: isIPv6(address) ? 'IPv6' : 'IPv4' });
    }
    return 0;
  }
}
