import type { Scope, SessionContext } from './context';
import type { ExchangeRecorder, ExchangeStart } from './exchange-observer';
import { originals } from './originals';
import { GAP_ATTRIBUTE } from './schema/attributes';
import type { InternalReads } from './ambient/internal-reads';
import type { RecorderOptions } from './recorder-options';
import type {
  CallRecord,
  ExchangeRecord,
  HeaderList,
  Outcome,
  RecordedError,
  WireChunk,
  WireResponse,
} from './schema/records';

/** What an exchange needs of the recorder. */
export interface ExchangeHost {
  readonly options: RecorderOptions;
  readonly internalReads: InternalReads;
  nextSeq(session: SessionContext): number;
  finishExchange(exchange: ExchangeInProgress, record: CallRecord): void;
}

/** Bytes of one body that are kept; beyond it the program still gets all, and the record is marked as cut. */
const MAX_BODY_BYTES = 256 * 1024 * 1024;

/** One HTTP attempt while it runs. Keeps references to the pieces that pass by and copies none of them. */
export class ExchangeInProgress implements ExchangeRecorder {
  readonly scope: Scope;
  readonly correlation?: readonly [string, string];
  private readonly recorder: ExchangeHost;
  private readonly info: ExchangeStart;
  private readonly spanId: string;
  private readonly startMs: number;
  private readonly seqStart: number;
  private readonly requestPieces: Uint8Array[] = [];
  private readonly chunks: WireChunk[] = [];
  private head: Omit<WireResponse, 'chunks' | 'trailers'> | undefined;
  private trailerList: HeaderList = [];
  private bytes = 0;
  private ended = false;
  private burstSeq: number | undefined;
  private readonly host: ReturnType<NonNullable<RecorderOptions['hostSpans']>['start']>;

  constructor(recorder: ExchangeHost, info: ExchangeStart, scope: Scope) {
    this.recorder = recorder;
    this.info = info;
    this.scope = scope;
    this.spanId = recorder.options.ids.spanId();
    this.seqStart = recorder.nextSeq(scope.session);
    this.startMs = recorder.options.clock.now();
    this.host = recorder.options.hostSpans?.start(`${info.method} ${pathOf(info.url)}`);
    const correlation = recorder.options.correlator?.started({ id: this.spanId, info, scope });
    if (correlation !== undefined) this.correlation = correlation;
  }

  requestBody(bytes: Uint8Array): void {
    if (!this.ended && this.take(bytes)) this.requestPieces.push(bytes);
  }

  responseHead(head: { status: number; statusText: string; headers: HeaderList }): void {
    if (this.ended) return;
    this.head = { ...head, headSeq: this.eventSeq(), headMs: this.elapsed() };
  }

  chunk(bytes: Uint8Array): void {
    if (this.ended || !this.take(bytes)) return;
    this.chunks.push({ seq: this.eventSeq(), ms: this.elapsed(), bytes: asBuffer(bytes) });
  }

  trailers(trailers: HeaderList): void {
    if (!this.ended) this.trailerList = trailers;
  }

  end(outcome: Outcome, error?: RecordedError): void {
    if (this.ended) return;
    this.ended = true;
    if (this.info.transport === 'undici') this.recorder.internalReads.expect(this.mayHaveBody());
    this.recorder.options.correlator?.ended(this.spanId);
    this.recorder.options.diagnostics.guard('end of an exchange', () => this.finish(outcome, error));
  }

  private finish(outcome: Outcome, error: RecordedError | undefined): void {
    const { options } = this.recorder;
    const { scope, head } = this;
    const record: ExchangeRecord = {
      kind: 'http',
      name: `${this.info.method} ${pathOf(this.info.url)}`,
      transport: this.info.transport,
      traceId: this.host?.traceId ?? scope.traceId,
      spanId: this.spanId,
      parentSpanId: this.host?.spanId ?? scope.spanId,
      runId: options.runId,
      processPath: options.processPath,
      sessionId: scope.session.id,
      scope: scope.path,
      seqStart: this.seqStart,
      seqEnd: this.eventSeq(),
      startMs: this.startMs,
      endMs: options.clock.now(),
      outcome: outcome === 'ok' && head !== undefined && head.status >= 400 ? 'error' : outcome,
      request: {
        method: this.info.method,
        url: this.info.url,
        headers: this.info.headers,
        body: Buffer.concat(this.requestPieces),
      },
      ...(scope.agentId !== undefined && { agentId: scope.agentId }),
      ...(head !== undefined && { response: { ...head, chunks: this.chunks, trailers: this.trailerList } }),
      ...(error !== undefined && { error }),
      ...(this.bytes > MAX_BODY_BYTES && {
        attributes: { [GAP_ATTRIBUTE]: 'a body over the bound of recording was not kept' },
      }),
    };
    this.recorder.finishExchange(this, record);
    this.host?.end(record.attributes, outcome !== 'ok');
  }

  /**
   * Events that one read of the socket brings come in one synchronous burst and share a number: a replay gives them in
   * one delivery again, because clients merge what arrives together.
   */
  private eventSeq(): number {
    if (this.burstSeq === undefined) {
      this.burstSeq = this.recorder.nextSeq(this.scope.session);
      originals.queueMicrotask(() => (this.burstSeq = undefined));
    }
    return this.burstSeq;
  }

  /** Fetch gives an answer without one no stream (https://fetch.spec.whatwg.org/#null-body-status). */
  private mayHaveBody(): boolean {
    const status = this.head?.status;
    return status !== undefined && status !== 204 && status !== 205 && status !== 304 && this.info.method !== 'HEAD';
  }

  private take(bytes: Uint8Array): boolean {
    this.bytes += bytes.byteLength;
    return this.bytes <= MAX_BODY_BYTES;
  }

  private elapsed(): number {
    return this.recorder.options.clock.now() - this.startMs;
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function pathOf(url: string): string {
  return URL.canParse(url) ? new URL(url).pathname : url;
}
