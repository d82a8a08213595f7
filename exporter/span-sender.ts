import type { OtlpBodies, WaitingSpan } from './otlp-body';
import type { OtlpClient, PostResult } from './otlp-http';

/** Most bytes of one request: the smallest receiver limit in the field is 4 MiB. */
const MAX_REQUEST_BYTES = 3.5 * 1024 * 1024;
const INTERVAL_MS = 1000;
const MAX_BACKOFF_MS = 30_000;

/** Where spans come from that are not in memory any more, and where it is noted how far they were sent. */
export interface SpoolAccess {
  /** Bytes of the spool that were sent. */
  sent: number;
  /** Reads whole lines from `sent` on, at most about `maxBytes`. */
  read(maxBytes: number): Promise<WaitingSpan[]>;
  /** Notes a new value of `sent`. */
  save(): void;
}

export interface SenderOptions {
  readonly client: OtlpClient;
  readonly bodies: OtlpBodies;
  readonly spool: SpoolAccess | undefined;
  /** Most bytes that wait in memory. */
  readonly maxBytes: number;
  readonly timeoutMs: number;
  readonly timers: Pick<typeof globalThis, 'setTimeout' | 'clearTimeout'>;
  readonly now: () => number;
  readonly untracked: <T>(fn: () => T) => T;
  /** A span the receiver will never have, or a failure worth counting. */
  readonly failed: (what: 'lost' | 'send', message: string) => void;
}

/**
 * Sends spans in the order of their recording, one request at a time, packed by bytes. What does not fit in memory or
 * cannot be sent stays in the spool, if there is one.
 */
export class SpanSender {
  private queue: WaitingSpan[] = [];
  private queuedBytes = 0;
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private notBefore = 0;
  private failures = 0;
  private closed = false;
  private fromSpoolOnly = false;

  constructor(private readonly options: SenderOptions) {}

  /** True when everything was sent. */
  get idle(): boolean {
    return this.queue.length === 0 && this.running === undefined;
  }

  push(span: WaitingSpan): void {
    this.queue.push(span);
    this.queuedBytes += span.bytes;
    while (this.queuedBytes > this.options.maxBytes && this.queue.length > 1) this.drop();
    this.schedule();
  }

  private drop(): void {
    const dropped = this.queue.shift();
    this.queuedBytes -= dropped?.bytes ?? 0;
    if (dropped?.end === undefined) this.options.failed('lost', 'the queue in memory is full and there is no spool');
  }

  private schedule(): void {
    if (this.timer !== undefined || this.closed) return;
    const wait = Math.max(INTERVAL_MS, this.notBefore - this.options.now());
    this.timer = this.options.untracked(() =>
      this.options.timers.setTimeout(() => {
        this.timer = undefined;
        void this.run(this.options.timeoutMs);
      }, wait),
    );
    this.timer.unref();
  }

  /** Sends until nothing waits or a request fails. Never rejects. */
  run(timeoutMs: number): Promise<void> {
    this.running ??= this.options
      .untracked(() => this.sendAll(timeoutMs))
      .catch((error: unknown) => this.options.failed('send', String(error)))
      .finally(() => {
        this.running = undefined;
        if (this.queue.length > 0) this.schedule();
      });
    return this.running;
  }

  /** Sends what waits, within `deadlineMs` in total; keeps the process alive for as long as that takes, if `hold`. */
  async flush(deadlineMs: number, hold = true): Promise<void> {
    const { client, timers, now } = this.options;
    const end = now() + deadlineMs;
    client.hold(hold);
    let timer: NodeJS.Timeout | undefined;
    const deadline = new Promise<void>((resolve) => (timer = timers.setTimeout(resolve, deadlineMs)));
    if (!hold) timer?.unref();
    const work = (async () => {
      await this.running;
      if (this.notBefore <= end && (this.queue.length > 0 || this.fromSpoolOnly))
        await this.run(Math.max(1, end - now()));
    })();
    await Promise.race([work, deadline]);
    if (this.running !== undefined) client.close();
    timers.clearTimeout(timer);
    client.hold(false);
  }

  /** Sends what the spool holds beyond its note, with nothing in memory. */
  async flushSpool(deadlineMs: number, hold = true): Promise<void> {
    this.fromSpoolOnly = true;
    await this.flush(deadlineMs, hold);
  }

  /** Ends the timer and all connections. */
  close(): void {
    this.closed = true;
    this.options.timers.clearTimeout(this.timer);
    this.options.client.close();
  }

  private async sendAll(timeoutMs: number): Promise<void> {
    while (!this.closed) {
      const batch = await this.nextBatch();
      if (batch.length === 0) return;
      if (!(await this.send(batch, timeoutMs))) return;
    }
  }

  /** From memory, or from the spool when spans before those in memory have not been sent. */
  private async nextBatch(): Promise<readonly WaitingSpan[]> {
    const { spool } = this.options;
    if (spool !== undefined && (this.fromSpoolOnly || this.behind(spool))) {
      const read = await spool.read(MAX_REQUEST_BYTES);
      if (read.length > 0) return read;
    }
    return pack(this.queue);
  }

  private behind(spool: SpoolAccess): boolean {
    const first = this.queue[0];
    return first?.end !== undefined && first.end - lineBytes(first) > spool.sent;
  }

  private forget(batch: readonly WaitingSpan[]): void {
    const { spool } = this.options;
    const end = batch.reduce((most, span) => Math.max(most, span.end ?? 0), 0);
    const sent = new Set(batch);
    this.queue = this.queue.filter((span) => !sent.has(span) && (span.end === undefined || span.end > end));
    this.queuedBytes = this.queue.reduce((sum, span) => sum + span.bytes, 0);
    if (spool === undefined || end <= spool.sent) return;
    spool.sent = end;
    spool.save();
  }

  /** True when the receiver has taken, or will never take, all of the batch. */
  private async send(batch: readonly WaitingSpan[], timeoutMs: number): Promise<boolean> {
    const result = await this.options.client.post(this.options.bodies.build(batch), timeoutMs);
    if (result.kind === 'ok') {
      this.forget(batch);
      return this.taken(result);
    }
    if (result.kind === 'too-large' && batch.length > 1) {
      const half = batch.length >> 1;
      return (await this.send(batch.slice(0, half), timeoutMs)) && (await this.send(batch.slice(half), timeoutMs));
    }
    if (result.kind === 'too-large') {
      this.options.failed('lost', `a span of ${batch[0]?.bytes} bytes is too large for the endpoint`);
      this.forget(batch);
      return true;
    }
    if (result.kind === 'unsupported')
      return this.options.bodies.refused() ? this.send(batch, timeoutMs) : this.wait({ ...result, kind: 'refused' });
    return this.wait(result);
  }

  private taken(result: Extract<PostResult, { kind: 'ok' }>): true {
    this.failures = 0;
    this.notBefore = 0;
    for (let i = 0; i < result.rejected; i++) {
      this.options.failed('lost', `the endpoint rejected spans: ${result.message ?? 'no reason given'}`);
    }
    return true;
  }

  private wait(result: Extract<PostResult, { kind: 'retry' | 'refused' }>): false {
    this.failures += 1;
    const backoff = Math.min(MAX_BACKOFF_MS, INTERVAL_MS * 2 ** (this.failures - 1));
    // A refusal (wrong address, no permission) is not repaired by trying soon; the spool keeps the spans meanwhile.
    const wait = result.kind === 'refused' ? MAX_BACKOFF_MS : (result.afterMs ?? backoff);
    this.notBefore = this.options.now() + wait;
    this.options.failed('send', result.message);
    return false;
  }
}

/** The spans of the next request: as many as fit, a giant alone. */
export function pack(queue: readonly WaitingSpan[]): readonly WaitingSpan[] {
  let bytes = 0;
  let count = 0;
  for (const span of queue) {
    bytes += span.bytes;
    if (count > 0 && bytes > MAX_REQUEST_BYTES) break;
    count += 1;
  }
  return queue.slice(0, count);
}

/** `bytes` is the length of the line in the spool for spans that have one. */
const lineBytes = (span: WaitingSpan): number => span.bytes;
