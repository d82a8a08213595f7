import type { Config } from '../instrumentation/config';
import type { AnyRecord, RecordSink } from '../instrumentation/schema/records';
import type { OtlpResource } from './otlp';
import { OtlpBodies, requestFrame } from './otlp-body';
import { createEncoderState, encodeRecord, type EncoderState } from './span-encoder';
import { type SpoolAccess, SpanSender } from './span-sender';
import { openSpoolAccess } from './spool-access';
import { SpoolFile } from './spool-file';
import { spoolPath } from './store-paths';

/** Counts failures of our own code by place. */
export interface Diag {
  failed(place: string, error: unknown): void;
}

export interface SinkOptions {
  readonly diagnostics: Diag;
  /** Runs a function so that our own taps do not record what it does. */
  readonly untracked?: <T>(fn: () => T) => T;
  /** The program's clock and timers may become virtual; these are the real ones. */
  readonly timers?: Pick<typeof globalThis, 'setTimeout' | 'clearTimeout'>;
  readonly now?: () => number;
  /** `inline`: every span holds its payloads whole (REENACT_PAYLOAD). */
  readonly payload?: 'difference' | 'inline';
}

/** Spans that wait in memory when a spool keeps them anyway, and when none does. */
const QUEUE_WITH_SPOOL = 8 * 1024 * 1024;
const QUEUE_WITHOUT_SPOOL = 64 * 1024 * 1024;

/** A sink that can be ended before its process does. */
export interface LocalSink extends RecordSink {
  /** Sends nothing any more; what waits stays in the file. */
  close(): void;
}

/**
 * The sink of one recorded process: each record goes to the local file at once, and from there to the OTLP endpoint
 * when one is configured. Nothing is opened before the first record.
 */
export function createSink(config: Config, options: SinkOptions): LocalSink {
  return new LocalFirstSink(config, options);
}

/** Only where spans are sent: node:https and zlib cost a program without an endpoint 8 ms at start. */
function loadClient(): typeof import('./otlp-http') {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- needed at once, and only then
  return require('./otlp-http') as typeof import('./otlp-http');
}

class LocalFirstSink implements LocalSink {
  private readonly diag: Diag;
  private readonly timers: Pick<typeof globalThis, 'setTimeout' | 'clearTimeout'>;
  private readonly resource: OtlpResource;
  private readonly frame: { head: string; tail: string };
  private readonly state: EncoderState;
  private readonly bodies: OtlpBodies;
  private spool: SpoolFile | undefined;
  private sender: SpanSender | undefined;
  private unsent: SpoolAccess | undefined;
  private opened = false;
  private readonly now: () => number;

  constructor(
    private readonly config: Config,
    private readonly options: SinkOptions,
  ) {
    this.diag = options.diagnostics;
    this.timers = options.timers ?? { setTimeout, clearTimeout };
    this.resource = resourceOf(config);
    this.frame = requestFrame(this.resource);
    const payload = options.payload ?? (process.env['REENACT_PAYLOAD'] === 'inline' ? 'inline' : 'difference');
    this.state = createEncoderState({ inline: payload === 'inline' });
    this.bodies = new OtlpBodies(config.otlp.protocol);
    this.now = options.now ?? Date.now.bind(Date);
  }

  write(record: AnyRecord): void {
    try {
      if (!this.opened) this.open(record);
      const span = encodeRecord(record, this.state);
      const text = JSON.stringify(span);
      const line = Buffer.from(`${this.frame.head}${text}${this.frame.tail}\n`);
      const end = this.spool?.append(line);
      if (end !== undefined) this.noteUnsent();
      this.sender?.push({
        resource: this.resource,
        span: this.bodies.keep(span, text),
        bytes: line.length,
        ...(end !== undefined && { end }),
      });
    } catch (error) {
      this.diag.failed('sink', error);
    }
  }

  /** Marks the file, once, as one whose spans are to be sent: what this process cannot send, a later one does. */
  private noteUnsent(): void {
    this.unsent?.save();
    this.unsent = undefined;
  }

  flushSync(): void {
    try {
      this.spool?.drain();
      this.spool?.checkRemoved();
    } catch (error) {
      this.diag.failed('sink', error);
    }
  }

  close(): void {
    this.sender?.close();
    this.spool?.close();
  }

  async flush(deadlineMs: number): Promise<void> {
    this.flushSync();
    await this.sender?.flush(deadlineMs);
  }

  private open(record: AnyRecord): void {
    this.opened = true;
    const { config, diag } = this;
    const path = spoolPath(config.store, {
      runId: record.runId,
      processPath: record.processPath,
      pid: process.pid,
    });
    if (config.spool) {
      this.spool = new SpoolFile({
        store: config.store,
        path,
        now: this.now,
        failed: (what, error) => diag.failed(what === 'lost' ? 'records lost' : 'local store', error),
      });
    }
    if (config.otlp.url !== undefined) this.sender = this.openSender(path);
  }

  private openSender(path: string): SpanSender {
    const { config, diag, options, timers } = this;
    const untracked = options.untracked ?? ((fn) => fn());
    const client = new (loadClient().OtlpClient)({
      otlp: config.otlp,
      untracked,
      timers,
      now: this.now,
      contentType: () => this.bodies.contentType,
      partialSuccess: (body, type) => this.bodies.answer(body, type),
    });
    const spool = this.spool && openSpoolAccess(path, (error) => diag.failed('local store', error));
    this.unsent = spool;
    return new SpanSender({
      client,
      bodies: this.bodies,
      spool,
      maxBytes: this.spool ? QUEUE_WITH_SPOOL : QUEUE_WITHOUT_SPOOL,
      timeoutMs: config.otlp.timeoutMs,
      timers,
      now: this.now,
      untracked,
      failed: (what, message) => diag.failed(what === 'lost' ? 'spans lost' : 'OTLP endpoint', message),
    });
  }
}

function resourceOf(config: Config): OtlpResource {
  const attributes = { ...config.resourceAttributes, 'service.name': config.serviceName };
  return { attributes: Object.entries(attributes).map(([key, value]) => ({ key, value: { stringValue: value } })) };
}
