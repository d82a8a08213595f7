import { originals } from '../../instrumentation/originals';
import { Quiescence } from '../player/quiescence';

/** Real time that timers of the program may take before an answer is given regardless. */
const TIMER_PATIENCE_MS = 250;

interface Waiting {
  readonly order: number;
  readonly arrival: number;
  release(): void;
}

/**
 * Gives answers out one by one, in the recorded order of completion: whenever the program can do nothing more by
 * itself, the one of those that wait which was recorded as the first. A call that is never made keeps nobody waiting.
 */
export class ReleaseOrder {
  private readonly waiting = new Set<Waiting>();
  private readonly quiescence: Quiescence;
  private activity = 0;
  private arrivals = 0;
  private timers: number;
  private timersSince: number | undefined;
  /** Asked at rest, before anything is released; true when it gave the program something itself. */
  private readonly atRest: () => boolean;
  /** Told at rest when nothing waits. */
  private readonly idle: () => void;

  constructor(hooks: { atRest?: () => boolean; idle?: () => void } = {}) {
    this.atRest = hooks.atRest ?? (() => false);
    this.idle = hooks.idle ?? (() => undefined);
    this.timers = activeTimers();
    this.quiescence = new Quiescence({ activity: () => this.activity, busy: () => this.waitsForTimers() });
  }

  /** Waits for its turn; the function that comes back gives the place up. */
  add(order: number, release: () => void): () => void {
    const entry: Waiting = { order, arrival: (this.arrivals += 1), release };
    this.waiting.add(entry);
    this.touch();
    return () => void this.waiting.delete(entry);
  }

  /** The program did something: it is not at rest. */
  touch(): void {
    this.activity += 1;
    this.quiescence.watch(() => this.step());
  }

  private step(): void {
    this.timersSince = undefined;
    if (this.atRest()) return this.touch();
    let first: Waiting | undefined;
    for (const entry of this.waiting) {
      if (
        first === undefined ||
        entry.order < first.order ||
        (entry.order === first.order && entry.arrival < first.arrival)
      )
        first = entry;
    }
    if (first === undefined) return this.idle();
    this.waiting.delete(first);
    first.release();
    this.touch();
  }

  /** A program that sleeps for a moment is about to do something; one with a heartbeat is not. */
  private waitsForTimers(): boolean {
    const active = activeTimers();
    if (active <= this.timers) {
      this.timersSince = undefined;
      return false;
    }
    this.timersSince ??= originals.performanceNow();
    if (originals.performanceNow() - this.timersSince < TIMER_PATIENCE_MS) return true;
    // These stay: they are counted as part of the surroundings from now on.
    this.timers = active;
    return false;
  }
}

function activeTimers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
}
