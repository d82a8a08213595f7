import http from 'node:http';
import https from 'node:https';
import { gzip } from 'node:zlib';
import type { Config } from '../instrumentation/config';

/** What a receiver answered to one request. */
export type PostResult =
  | { readonly kind: 'ok'; readonly rejected: number; readonly message?: string }
  | { readonly kind: 'too-large' }
  /** Not this content type. */
  | { readonly kind: 'unsupported'; readonly message: string }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'retry'; readonly message: string; readonly afterMs?: number };

export interface OtlpClientOptions {
  readonly otlp: Config['otlp'];
  /** Runs a function so that our own taps do not record what it does. */
  readonly untracked: <T>(fn: () => T) => T;
  readonly timers: Pick<typeof globalThis, 'setTimeout' | 'clearTimeout'>;
  /** Reads the body of a 200 answer. */
  readonly partialSuccess: (body: Buffer, contentType: string) => { rejectedSpans: number; errorMessage: string };
  readonly now: () => number;
  readonly contentType: () => string;
}

/** Captured when the package loads, before any tap or replay replaces them. */
const transports = { http: http.request, https: https.request, HttpAgent: http.Agent, HttpsAgent: https.Agent, gzip };

const MAX_ANSWER_BYTES = 1024 * 1024;
const RETRYABLE: readonly number[] = [429, 502, 503, 504];

/**
 * Posts bodies to an OTLP/HTTP endpoint. Its sockets never keep the process alive, but while `hold` is on: an ending
 * process waits for the last post with a deadline of its own.
 */
export class OtlpClient {
  private readonly agent: http.Agent;
  private readonly url: URL;
  private readonly sockets = new Set<{ ref(): unknown; unref(): unknown }>();
  private held = false;

  constructor(private readonly options: OtlpClientOptions) {
    this.url = new URL(options.otlp.url ?? '');
    const Agent = this.url.protocol === 'https:' ? transports.HttpsAgent : transports.HttpAgent;
    this.agent = new Agent({ keepAlive: true, maxSockets: 2 });
  }

  /** While on, posts under way keep the process alive. */
  hold(on: boolean): void {
    this.held = on;
    for (const socket of this.sockets)
      if (on) socket.ref();
      else socket.unref();
  }

  /** Ends all connections; posts under way give `retry`. */
  close(): void {
    this.agent.destroy();
  }

  /** Never rejects. */
  async post(body: Uint8Array, timeoutMs: number): Promise<PostResult> {
    try {
      const zipped = this.options.otlp.compression === 'gzip' ? await this.zip(body) : body;
      return await this.options.untracked(() => this.send(zipped, timeoutMs));
    } catch (error) {
      return { kind: 'retry', message: String(error) };
    }
  }

  private zip(body: Uint8Array): Promise<Uint8Array> {
    return new Promise((resolve, reject) =>
      this.options.untracked(() =>
        transports.gzip(body, { level: 1 }, (error, bytes) => (error ? reject(error) : resolve(bytes))),
      ),
    );
  }

  private send(body: Uint8Array, timeoutMs: number): Promise<PostResult> {
    return new Promise((resolve) => {
      const { timers } = this.options;
      const request = (this.url.protocol === 'https:' ? transports.https : transports.http)(this.url, {
        method: 'POST',
        agent: this.agent,
        headers: this.headers(body.byteLength),
      });
      const timer = timers.setTimeout(() => request.destroy(new Error(`no answer in ${timeoutMs} ms`)), timeoutMs);
      timer.unref();
      const done = (result: PostResult): void => {
        timers.clearTimeout(timer);
        resolve(result);
      };
      request.on('socket', (socket) => {
        if (!this.sockets.has(socket)) socket.once('close', () => this.sockets.delete(socket));
        this.sockets.add(socket);
        if (this.held) socket.ref();
        else socket.unref();
      });
      request.on('error', (error) => done({ kind: 'retry', message: error.message || String(error) }));
      request.on('close', () => done({ kind: 'retry', message: 'the connection closed without an answer' }));
      request.on('response', (response) => this.read(response, done));
      request.end(body);
    });
  }

  private headers(length: number): http.OutgoingHttpHeaders {
    return {
      'user-agent': 'reenact',
      ...this.options.otlp.headers,
      'content-type': this.options.contentType(),
      'content-length': length,
      ...(this.options.otlp.compression === 'gzip' && { 'content-encoding': 'gzip' }),
    };
  }

  private read(response: http.IncomingMessage, done: (result: PostResult) => void): void {
    const parts: Buffer[] = [];
    let bytes = 0;
    response.on('data', (data: Buffer) => {
      bytes += data.length;
      if (bytes <= MAX_ANSWER_BYTES) parts.push(data);
    });
    response.on('error', (error) => done({ kind: 'retry', message: error.message }));
    response.on('end', () => done(this.judge(response, Buffer.concat(parts))));
  }

  private judge(response: http.IncomingMessage, body: Buffer): PostResult {
    const status = response.statusCode ?? 0;
    if (status >= 200 && status < 300) return this.accepted(body, response.headers['content-type'] ?? '');
    const text = body.toString('latin1', 0, 300);
    if (status === 413 || (status === 400 && /too large|exceeds|larger than/i.test(text))) return { kind: 'too-large' };
    const message = `HTTP ${status} ${text}`.trim();
    if (status === 415) return { kind: 'unsupported', message };
    if (!RETRYABLE.includes(status)) return { kind: 'refused', message };
    const afterMs = retryAfter(response.headers['retry-after'], this.options.now());
    return { kind: 'retry', message, ...(afterMs !== undefined && { afterMs }) };
  }

  private accepted(body: Buffer, contentType: string): PostResult {
    try {
      const { rejectedSpans, errorMessage } = this.options.partialSuccess(body, contentType);
      return { kind: 'ok', rejected: rejectedSpans, ...(errorMessage !== '' && { message: errorMessage }) };
    } catch {
      // A success whose body is no OTLP answer: many receivers send an empty body or plain text.
      return { kind: 'ok', rejected: 0 };
    }
  }
}

/** `Retry-After` in seconds or as a date. */
export function retryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
