import { ReenactError } from '../../instrumentation/schema/errors';
import type { HeaderList } from '../../instrumentation/schema/records';
import type { Link, Piece } from './link';
import type { NetworkFault } from './network-fault';

export interface ResponseHead {
  readonly status: number;
  readonly statusText: string;
  readonly headers: HeaderList;
}

/** Answers one request, in the pieces and with the bytes that are given; nothing is added. */
export interface Responder {
  /** May come several times as long as the status is below 200. */
  head(head: ResponseHead): void;
  /** One separate `data` event at the client. */
  chunk(bytes: Uint8Array): void;
  end(trailers?: HeaderList): void;
  /**
   * What is given within `step` arrives in one read of the client, so that the program cannot act in between. Each
   * chunk stays a `data` event of its own.
   */
  together(step: () => void): void;
  /** Breaks the connection off as the network would; without a fault the peer just closes. */
  destroy(fault?: string | NetworkFault): void;
  /** Nothing more can reach the client: answered, broken off, or the client is gone. */
  readonly closed: boolean;
  /** Called once if the client goes away before it has got the whole answer. */
  onClose(listener: () => void): void;
}

type Framing =
  { readonly kind: 'chunked' } | { readonly kind: 'until-close' } | { readonly kind: 'length'; left: number };

export interface RequestTraits {
  readonly method: string;
  /** The client announced that it will close, or speaks HTTP/1.0. */
  readonly lastOnConnection: boolean;
  /** The recorded answer switches to another protocol, which is not replayed here. */
  onUpgrade(): void;
}

const UPGRADE_REFUSED: ResponseHead = {
  status: 501,
  statusText: 'Not Implemented',
  headers: [
    ['content-length', '0'],
    ['connection', 'close'],
  ],
};

/** Where a response goes: straight to the link, or behind the answers to earlier requests of the connection. */
export interface PieceSink {
  send(piece: Piece): void;
  /** The response is complete: the next one may follow. */
  finished(): void;
}

export class Http1Responder implements Responder {
  readonly #link: Link;
  readonly #traits: RequestTraits;
  readonly #sink: PieceSink;
  readonly #listeners: (() => void)[] = [];
  #framing: Framing | undefined;
  #status: number | undefined;
  #peerCloses = false;
  #ended = false;
  #released = false;
  #delivered = false;
  #gone = false;
  /** Pieces held back by `together`. */
  #joined: Piece[] | undefined;

  constructor(link: Link, traits: RequestTraits, sink: PieceSink) {
    this.#link = link;
    this.#traits = traits;
    this.#sink = sink;
  }

  get closed(): boolean {
    return this.#ended || this.#gone || !this.#link.open;
  }

  onClose(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** The client has been handed the whole answer, or will never be. */
  get delivered(): boolean {
    return this.#delivered || this.#gone;
  }

  /** Of the final head. */
  get status(): number | undefined {
    return this.#status;
  }

  head(head: ResponseHead): void {
    if (this.closed) return;
    if (head.status === 101) {
      this.#traits.onUpgrade();
      this.head(UPGRADE_REFUSED);
      this.end();
      return;
    }
    if (this.#framing !== undefined) throw new ReenactError('INTERNAL', 'A response was given two heads.');
    if (head.status >= 200) {
      this.#status = head.status;
      this.#framing = framingOf(head, this.#traits.method);
      this.#peerCloses = this.#traits.lastOnConnection || /\bclose\b/i.test(valueOf(head.headers, 'connection') ?? '');
    }
    this.#send(headBytes(head));
  }

  chunk(bytes: Uint8Array): void {
    if (this.closed || bytes.length === 0) return;
    const framing = this.#framing;
    if (framing === undefined) throw new ReenactError('INTERNAL', 'A response was given a body before its head.');
    if (framing.kind === 'chunked') {
      this.#send(Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]));
    } else if (framing.kind === 'until-close') {
      this.#send(Buffer.from(bytes));
    } else if (framing.left > 0) {
      // More than the head announced would be read as the beginning of the next response.
      const fitting = bytes.subarray(0, framing.left);
      framing.left -= fitting.length;
      this.#send(Buffer.from(fitting));
    }
  }

  end(trailers: HeaderList = []): void {
    if (this.closed) return;
    const complete = this.#framing?.kind === 'chunked' || this.#isSatisfied();
    this.#ended = true;
    const onDelivery = (): void => this.#complete();
    if (this.#framing?.kind === 'chunked') {
      this.#give({ kind: 'bytes', bytes: wire(`0\r\n${fieldLines(trailers)}\r\n`), onDelivery });
    }
    if (this.#released) return;
    if (!complete || this.#peerCloses) this.#give({ kind: 'end', onDelivery });
    this.#release();
  }

  together(step: () => void): void {
    if (this.#joined !== undefined) {
      step();
      return;
    }
    const joined: Piece[] = [];
    const [beginsWithHead, wasReleased] = [this.#framing === undefined, this.#released];
    this.#joined = joined;
    try {
      step();
    } finally {
      this.#joined = undefined;
    }
    const isChunked = this.#framing?.kind === 'chunked';
    for (const piece of joinPieces(joined, { isChunked, beginsWithHead })) this.#sink.send(piece);
    if (this.#released && !wasReleased) this.#sink.finished();
  }

  destroy(fault?: string | NetworkFault): void {
    if (this.closed) return;
    this.#ended = true;
    this.#delivered = true;

    // The client has all of this answer, and the connection may carry the next one by now.
    if (this.#released) return;
    if (fault === undefined) this.#give({ kind: 'end' });
    else this.#give({ kind: 'break', fault: typeof fault === 'string' ? { code: fault } : fault });
    this.#release();
  }

  /** The connection is gone. */
  lost(): void {
    if (this.#gone || this.#delivered) return;
    this.#gone = true;
    for (const listener of this.#listeners) listener();
  }

  #send(bytes: Buffer): void {
    const last = this.#isSatisfied();
    this.#give({ kind: 'bytes', bytes, onDelivery: last ? () => this.#complete() : undefined });

    // A client sends its next request as soon as it has what the head announced: do not wait for `end`.
    if (last && !this.#peerCloses) this.#release();
  }

  #isSatisfied(): boolean {
    return this.#framing?.kind === 'length' && this.#framing.left === 0;
  }

  #complete(): void {
    this.#delivered = true;
  }

  #give(piece: Piece): void {
    if (this.#joined === undefined) this.#sink.send(piece);
    else this.#joined.push(piece);
  }

  #release(): void {
    if (this.#released) return;
    this.#released = true;
    if (this.#joined === undefined) this.#sink.finished();
  }
}

/**
 * Joins what can be read at once: everything in chunked coding, whose chunks the parser tells apart; else only the head
 * and the first piece of the body, since two pieces in one read would be one `data` event.
 */
function joinPieces(
  pieces: readonly Piece[],
  { isChunked, beginsWithHead }: { isChunked: boolean; beginsWithHead: boolean },
): Piece[] {
  const joined: Piece[] = [];
  for (const [at, piece] of pieces.entries()) {
    const before = joined.at(-1);
    const fits = isChunked || (beginsWithHead && at === 1);
    if (fits && before?.kind === 'bytes' && piece.kind === 'bytes') {
      const callbacks = [before.onDelivery, piece.onDelivery];
      joined[joined.length - 1] = {
        kind: 'bytes',
        bytes: Buffer.concat([before.bytes, piece.bytes]),
        onDelivery: () => callbacks.forEach((callback) => callback?.()),
      };
    } else joined.push(piece);
  }
  return joined;
}

/** Status line and fields as recorded: names, values, order and duplicates untouched. */
function headBytes({ status, statusText, headers }: ResponseHead): Buffer {
  return wire(`HTTP/1.1 ${status} ${plain(statusText)}\r\n${fieldLines(headers)}\r\n`);
}

function fieldLines(fields: HeaderList): string {
  return fields.map(([name, value]) => `${plain(name)}: ${plain(value)}\r\n`).join('');
}

/** A recording is untrusted: a value must not become a line of its own. */
function plain(text: string): string {
  return text.replace(/[\r\n\0]/g, ' ');
}

/** Node reads fields as Latin-1. What does not fit in there was decoded as UTF-8 by whoever recorded it. */
function wire(text: string): Buffer {
  const fits = [...text].every((character) => character.charCodeAt(0) <= 0xff);
  return Buffer.from(text, fits ? 'latin1' : 'utf8');
}

function framingOf(head: ResponseHead, method: string): Framing {
  if (method === 'HEAD' || head.status === 204 || head.status === 304) return { kind: 'length', left: 0 };
  if (method === 'CONNECT' && head.status < 300) return { kind: 'length', left: 0 };
  if (/\bchunked\s*$/i.test(valueOf(head.headers, 'transfer-encoding') ?? '')) return { kind: 'chunked' };
  const length = valueOf(head.headers, 'content-length')?.trim();
  if (length !== undefined && /^\d+$/.test(length)) return { kind: 'length', left: Number(length) };
  return { kind: 'until-close' };
}

/** The last value of a field. */
function valueOf(headers: HeaderList, name: string): string | undefined {
  return headers.findLast(([key]) => key.toLowerCase() === name)?.[1];
}
