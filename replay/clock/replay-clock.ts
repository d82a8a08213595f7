import type { ClockSource } from '../../instrumentation/ambient/clock-source';
import type { InternalReads } from '../../instrumentation/ambient/internal-reads';
import type { ScopeStorage } from '../../instrumentation/context';
import { originals } from '../../instrumentation/originals';
import type { AmbientStream, ClockRead } from '../../instrumentation/schema/ambient-log';

/** One recorded stream of clock reads while it is played. */
class ReadStream {
  private next = 0;
  private last: number | undefined;
  private readonly reads: readonly ClockRead[];

  constructor(reads: readonly ClockRead[]) {
    this.reads = reads;
  }

  /**
   * The value of the next read, when the recording has one at or after `position`. Reads that the recording placed
   * before `position` were not made this time (the program took another way) and are passed over.
   */
  read(position: number, beyond: number): number {
    while (this.next < this.reads.length && (this.reads[this.next]?.after ?? 0) < position) this.next += 1;
    const recorded = this.reads[this.next];
    if (recorded === undefined) return (this.last = Math.max(this.last ?? -Infinity, beyond));
    this.next += 1;
    return (this.last = recorded.value);
  }
}

/**
 * The time that a replayed program sees. Reads are answered from the log, each scope from its own; beyond the log,
 * time stands where the last event put it. After the first live call it runs at wall speed from there.
 */
export class ReplayClock implements ClockSource {
  private readonly streams: ReadonlyMap<string, AmbientStream>;
  private readonly startMs: number;
  private readonly dates = new Map<string, ReadStream>();
  private readonly monotonics = new Map<string, ReadStream>();
  private readonly positions = new Map<string, number>();
  private virtualMs: number;
  private liveSince: number | undefined;
  /** Set once the recorder exists; before, reads belong to the root scope. */
  scopes: ScopeStorage | undefined;
  internalReads: InternalReads | undefined;

  constructor(streams: ReadonlyMap<string, AmbientStream>, startMs: number) {
    this.streams = streams;
    this.startMs = startMs;
    this.virtualMs = startMs;
  }

  /** Virtual epoch milliseconds. */
  now(): number {
    return this.liveSince === undefined ? this.virtualMs : this.virtualMs + originals.performanceNow() - this.liveSince;
  }

  get isLive(): boolean {
    return this.liveSince !== undefined;
  }

  goLive(): void {
    this.liveSince ??= originals.performanceNow();
  }

  /** An event at this recorded time has happened; time never goes back. */
  advanceTo(ms: number): void {
    if (this.liveSince === undefined && ms > this.virtualMs) this.virtualMs = ms;
  }

  /** The event with this recorded seq has happened in the session. */
  passed(sessionId: string, seq: number): void {
    if (seq > (this.positions.get(sessionId) ?? 0)) this.positions.set(sessionId, seq);
  }

  date(callee?: () => number): number {
    const now = this.now();
    if (
      this.internalReads?.isInternal(callee) === true ||
      this.liveSince !== undefined ||
      this.scopes?.isUntracked() === true
    )
      return Math.floor(now);
    return this.readFrom(this.dates, 'date', Math.floor(now));
  }

  monotonic(): number {
    const beyond = (this.now() - this.startMs) * 1000;
    if (this.liveSince !== undefined || this.scopes?.isUntracked() === true) return beyond;
    return this.readFrom(this.monotonics, 'monotonic', beyond);
  }

  uptime(): number {
    return this.monotonic();
  }

  timeOrigin(): number {
    return this.startMs;
  }

  private readFrom(cache: Map<string, ReadStream>, kind: 'date' | 'monotonic', beyond: number): number {
    const scope = this.scopes?.current();
    const path = scope?.path ?? '';
    let stream = cache.get(path);
    if (stream === undefined) {
      stream = new ReadStream(this.streams.get(path)?.[kind] ?? []);
      cache.set(path, stream);
    }
    const value = stream.read(this.positions.get(scope?.session.id ?? '') ?? 0, beyond);
    // A read within the log is a fact of its moment: what comes after it cannot be earlier.
    this.advanceTo(kind === 'date' ? value : this.startMs + value / 1000);
    return value;
  }
}
