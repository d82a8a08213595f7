import { createHash } from 'node:crypto';
import type * as http from 'node:http';
import type { Scope } from './context';
import type { OpenCall, Recorder } from './recorder';
import { GAP_ATTRIBUTE } from './schema/attributes';
import { INBOUND } from './schema/inbound';
import type { InboundAnswer, InboundArgs } from './schema/inbound';
import type { Outcome } from './schema/records';
import { encodeTyped } from './schema/typed-json';

/** Bytes of a body that are kept; a request beyond it cannot be sent again. */
const MAX_BODY_BYTES = 1024 * 1024;

/** Headers whose values are credentials; a replay sends the request without them. */
const CREDENTIAL = /^(?:proxy-)?authorization$|^cookie$|key$|token|secret|signature/i;

/** One inbound request: an observation of the world outside, whose value is what the program made of it. */
export class InboundRequest implements OpenCall {
  private readonly recorder: Recorder;
  private readonly scope: Scope;
  private readonly request: http.IncomingMessage;
  private readonly spanId: string;
  private readonly seqStart: number;
  private readonly startMs: number;
  private readonly pieces: Buffer[] = [];
  private received = 0;
  private readonly digest = createHash('sha256');
  private sent = 0;
  private ended = false;

  /** @param scope its session may become another while the request is read */
  constructor(recorder: Recorder, request: http.IncomingMessage, scope: Scope) {
    this.recorder = recorder;
    this.request = request;
    this.scope = scope;
    this.spanId = recorder.options.ids.spanId();
    this.seqStart = recorder.nextSeq(scope.session);
    this.startMs = recorder.options.clock.now();
    recorder.openCalls.add(this);
  }

  read(bytes: Buffer): void {
    this.received += bytes.length;
    if (this.received <= MAX_BODY_BYTES) this.pieces.push(bytes);
  }

  /** The whole body, when it was small enough to be kept. */
  body(): Buffer | undefined {
    return this.received <= MAX_BODY_BYTES ? Buffer.concat(this.pieces) : undefined;
  }

  wrote(chunk: unknown, encoding: unknown): void {
    const bytes =
      typeof chunk === 'string'
        ? Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8')
        : ArrayBuffer.isView(chunk)
          ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
          : undefined;
    if (bytes === undefined) return;
    this.sent += bytes.length;
    this.digest.update(bytes);
  }

  /** @returns the answer as it is recorded */
  end(status: number, outcome: Outcome): InboundAnswer | undefined {
    if (this.ended) return undefined;
    this.ended = true;
    this.recorder.openCalls.delete(this);
    const answer = { status, bytes: this.sent, sha256: this.digest.digest('hex') };
    const { method = 'GET' } = this.request;
    const key = `${INBOUND}${method} ${(this.request.url ?? '/').split('?', 1)[0]}`;
    this.recorder.finishFunction(
      this.scope,
      {
        kind: 'observation',
        name: key,
        key,
        args: encodeTyped(this.args()).json,
        value: encodeTyped(answer).json,
        synchronous: false,
        outcome,
        seqStart: this.seqStart,
        startMs: this.startMs,
        ...(this.received > MAX_BODY_BYTES && {
          attributes: { [GAP_ATTRIBUTE]: 'the body of an inbound request over 1 MiB was not kept' },
        }),
      },
      this.spanId,
    );
    return answer;
  }

  leftOpen(): void {
    this.end(0, 'open');
  }

  private args(): InboundArgs {
    const { method = 'GET', url = '/', rawHeaders, socket } = this.request;
    const headers: [string, string][] = [];
    for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
      const name = rawHeaders[i] ?? '';
      headers.push([name, CREDENTIAL.test(name) ? 'redacted' : (rawHeaders[i + 1] ?? '')]);
    }
    const body = this.body() ?? Buffer.alloc(0);
    const text = body.toString('utf8');
    return {
      method,
      url,
      headers,
      // As text where it is text: a person reads it, and redaction finds what it looks for.
      body: Buffer.from(text).equals(body) ? text : body,
      ...(socket.localPort !== undefined && { port: socket.localPort }),
      ...(socket.remoteAddress !== undefined && { from: socket.remoteAddress }),
    };
  }
}
