import { Duplex } from 'node:stream';
import type { ConnectTarget } from './connect-target';
import type { NetworkFault } from './network-fault';

/** What travels from the server to the client: bytes, the end of the stream, or a broken connection. */
export type Piece =
  | { readonly kind: 'bytes'; readonly bytes: Buffer; readonly onDelivery?: (() => void) | undefined }
  | { readonly kind: 'end'; readonly onDelivery?: (() => void) | undefined }
  | { readonly kind: 'break'; readonly fault: NetworkFault };

/** The client's side of a connection, seen from the wire. */
export interface ClientEnd {
  /** Bytes that the program has not read yet. */
  unread(): number;
  receive(bytes: Buffer): void;
  end(): void;
  fail(fault: NetworkFault): void;
  abandon(error?: Error): void;
  /** Runs in the asynchronous context of the program's request. */
  inScope(step: () => void): void;
}

export interface LinkHost {
  /** Runs a step in a turn of its own, never within the caller's stack. */
  turn(step: () => void): void;
  /** Runs a step of the server outside of every context of the program. */
  inServerScope(step: () => void): void;
  /** Something crossed the network. */
  moved(): void;
  closed(link: Link): void;
  /** A client begins to connect; gives the connection its local port. */
  opened(link: Link): number;
}

/** One in-memory connection. Both directions are delivered asynchronously: parsers must not be entered twice. */
export class Link {
  readonly server: ServerEnd;
  client: ClientEnd | undefined;
  /** Changes when a tunnel through a proxy reaches its real target. */
  target: ConnectTarget;
  readonly localPort: number;
  #open = true;
  #up: Buffer[] = [];
  #upEnded = false;
  #upScheduled = false;
  #down: Piece[] = [];
  #downScheduled = false;
  readonly #host: LinkHost;

  constructor(host: LinkHost, target: ConnectTarget) {
    this.#host = host;
    this.target = target;
    this.localPort = host.opened(this);
    this.server = new ServerEnd(this);
  }

  get open(): boolean {
    return this.#open;
  }

  /** The client wrote. */
  sendUp(bytes: Buffer): void {
    if (!this.#open || this.#upEnded) return;
    this.#up.push(bytes);
    this.#scheduleUp();
  }

  /** The client will write no more. */
  endUp(): void {
    this.#upEnded = true;
    this.#scheduleUp();
  }

  /** The client is gone. What it wrote before still arrives. */
  closeUp(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#down = [];
    this.#scheduleUp();
    this.#host.closed(this);
  }

  /** The server wrote. */
  sendDown(piece: Piece): void {
    if (!this.#open) return;
    this.#down.push(piece);
    this.pump();
  }

  /** Delivers the next piece, once the program has read the piece before. */
  pump(): void {
    if (this.#downScheduled || this.#down.length === 0) return;
    this.#downScheduled = true;
    this.#host.turn(() => {
      this.#downScheduled = false;
      this.#deliverDown();
    });
  }

  #deliverDown(): void {
    const client = this.client;
    const piece = this.#down[0];
    if (client === undefined || piece === undefined || !this.#open) return;

    // The end may wait behind unread bytes, as in a socket; a reset would destroy them.
    if (piece.kind !== 'end' && client.unread() > 0) return;
    this.#down.shift();
    this.#host.moved();
    if (piece.kind !== 'break') piece.onDelivery?.();
    client.inScope(() => {
      if (piece.kind === 'bytes') client.receive(piece.bytes);
      else if (piece.kind === 'end') client.end();
      else client.fail(piece.fault);
    });
    this.pump();
  }

  #scheduleUp(): void {
    if (this.#upScheduled) return;
    this.#upScheduled = true;
    this.#host.turn(() => {
      this.#upScheduled = false;
      this.#host.inServerScope(() => this.#deliverUp());
    });
  }

  #deliverUp(): void {
    this.#host.moved();
    if (this.#up.length > 0) {
      const bytes = Buffer.concat(this.#up);
      this.#up = [];
      this.server.push(bytes);
      if (!this.#open || this.#upEnded) this.#scheduleUp();
      return;
    }
    if (!this.#open) this.server.destroy();
    else if (this.#upEnded && !this.server.readableEnded) this.server.push(null);
  }
}

/** The server's side of a connection: what the in-process server takes for its socket. */
export class ServerEnd extends Duplex {
  readonly link: Link;

  constructor(link: Link) {
    super({ allowHalfOpen: true });
    this.link = link;
    // A broken connection is told to the program by its own side.
    this.on('error', () => undefined);
  }

  override _read(): void {
    // Bytes are pushed as they come; the whole request is collected anyway.
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.link.sendDown({ kind: 'bytes', bytes: Buffer.from(chunk) });
    done();
  }

  override _final(done: () => void): void {
    this.link.sendDown({ kind: 'end' });
    done();
  }
}
