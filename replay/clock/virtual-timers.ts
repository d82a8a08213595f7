import { AsyncResource } from 'node:async_hooks';
import { originals } from '../../instrumentation/originals';
import type { TimerKind } from '../../instrumentation/ambient/timers';

export interface TimerIdentity {
  /** `scope` + kind + delay + ordinal: what the recording knows the timer by. */
  readonly scope: string;
  readonly key: string;
  readonly ordinal: number;
}

/** A timer of a replayed program. Fires when the scheduler says so; has the methods of Node's `Timeout`. */
export class VirtualTimer {
  readonly identity: TimerIdentity;
  readonly kind: TimerKind;
  readonly delay: number;
  /** Virtual epoch ms at which it is due when the recording does not say when it fired. */
  dueMs: number;
  private readonly timers: VirtualTimers;
  private readonly resource = new AsyncResource('Timeout');
  private readonly fn: () => void;
  private refed = true;
  private wall: NodeJS.Timeout | undefined;
  private cleared = false;

  constructor(
    timers: VirtualTimers,
    fields: { identity: TimerIdentity; kind: TimerKind; delay: number; fn: () => void },
  ) {
    this.timers = timers;
    this.identity = fields.identity;
    this.kind = fields.kind;
    this.delay = fields.delay;
    this.fn = fields.fn;
    this.dueMs = timers.now() + fields.delay;
  }

  /** Runs the callback in the asynchronous context that made the timer. */
  fire(): void {
    if (this.kind === 'interval') this.dueMs = this.timers.now() + this.delay;
    else this.timers.remove(this);
    this.resource.runInAsyncScope(this.fn);
  }

  /** From the first live call on timers run at wall speed. */
  startWallClock(): void {
    const wait = Math.max(1, this.dueMs - this.timers.now());
    this.wall = originals.setTimeout(() => {
      if (!this.timers.has(this)) return;
      this.fire();
      if (this.timers.has(this)) this.startWallClock();
    }, wait);
    if (!this.refed) this.wall.unref();
  }

  stopWallClock(): void {
    originals.clearTimeout(this.wall);
  }

  hasRef(): boolean {
    return this.refed;
  }

  ref(): this {
    this.refed = true;
    this.wall?.ref();
    this.timers.changed();
    return this;
  }

  unref(): this {
    this.refed = false;
    this.wall?.unref();
    return this;
  }

  /** Starts it anew, also when it has fired; not when it was cleared. */
  refresh(): this {
    if (this.cleared) return this;
    this.dueMs = this.timers.now() + this.delay;
    this.timers.add(this);
    return this;
  }

  close(): this {
    this.cleared = true;
    this.timers.remove(this);
    return this;
  }

  [Symbol.toPrimitive](): number {
    return this.timers.idOf(this);
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** All timers of a replayed program that have not fired or been cleared. */
export class VirtualTimers {
  readonly now: () => number;
  readonly changed: () => void;
  private readonly pending = new Set<VirtualTimer>();
  private readonly ids = new Map<number, VirtualTimer>();
  private nextId = 1;
  private wallSpeed = false;

  /** @param changed called when the scheduler should look again. */
  constructor(now: () => number, changed: () => void) {
    this.now = now;
    this.changed = changed;
  }

  add(timer: VirtualTimer): void {
    this.pending.add(timer);
    if (this.wallSpeed) {
      timer.stopWallClock();
      timer.startWallClock();
    }
    this.changed();
  }

  remove(timer: VirtualTimer): void {
    this.pending.delete(timer);
    timer.stopWallClock();
  }

  has(timer: VirtualTimer): boolean {
    return this.pending.has(timer);
  }

  idOf(timer: VirtualTimer): number {
    for (const [id, known] of this.ids) if (known === timer) return id;
    this.ids.set(this.nextId, timer);
    return this.nextId++;
  }

  /** `clearTimeout` accepts the timer, its number, or that number as text (Node's rule). */
  clear(handle: unknown): boolean {
    if (handle instanceof VirtualTimer) {
      handle.close();
      return true;
    }
    const known = typeof handle === 'number' || typeof handle === 'string' ? this.ids.get(Number(handle)) : undefined;
    known?.close();
    return known !== undefined;
  }

  all(): Iterable<VirtualTimer> {
    return this.pending;
  }

  /** Some timer keeps the process alive. */
  hasRefed(): boolean {
    for (const timer of this.pending) if (timer.hasRef()) return true;
    return false;
  }

  goLive(): void {
    if (this.wallSpeed) return;
    this.wallSpeed = true;
    for (const timer of this.pending) timer.startWallClock();
  }

  get isLive(): boolean {
    return this.wallSpeed;
  }
}

/** Timers for the idle timeouts of sockets: they follow virtual time and stand apart from the program's own. */
export function socketTimers(timers: VirtualTimers): {
  setTimeout: typeof setTimeout;
  clearTimeout: typeof clearTimeout;
} {
  const identity: TimerIdentity = { scope: ' sockets', key: 'socket', ordinal: 0 };
  const set = (fn: () => void, delay: number): VirtualTimer => {
    const timer = new VirtualTimer(timers, { identity, kind: 'timeout', delay, fn });
    timers.add(timer);
    return timer;
  };
  return { setTimeout: set as unknown as typeof setTimeout, clearTimeout: (handle) => void timers.clear(handle) };
}
