import { originals } from '../../instrumentation/originals';
import type { ReplayClock } from '../clock/replay-clock';
import type { VirtualTimer, VirtualTimers } from '../clock/virtual-timers';
import type { Rest } from './quiescence';

/** Something recorded that waits for its turn: a piece of an answer, a tool's result. */
export interface Release {
  /** Place in the recorded total order. */
  readonly seq: number;
  /** Virtual epoch ms of the recorded moment. */
  readonly ms: number;
  readonly sessionId: string;
  run(): void;
}

export interface FiringLookup {
  /** The next recorded firing of a timer, not yet used; `undefined` when the recording has none (left). */
  peek(timer: VirtualTimer): { readonly seq: number; readonly ms: number } | undefined;
  take(timer: VirtualTimer): void;
}

/** So many firings in a row that no recording knows mean a program that ticks for ever: then real time is due. */
const MAX_UNRECORDED_FIRINGS = 2_000;

/** A program that is still there after this real time is kept alive by something of its own. */
const LIFE_SIGN_MS = 2;

/** Timers that fired this close to the event before came with it, in one turn of the event loop. */
const SAME_TURN_MS = 5;

type Choice =
  | { kind: 'release'; release: Release; seq: number; ms: number }
  | { kind: 'timer'; timer: VirtualTimer; seq: number; ms: number };

/**
 * Gives the program its next event. Whenever the process is at rest, what was recorded earliest among all that waits is
 * released: answers, tool results and timer firings in the one order in which they really happened. A timer of which
 * the recording knows no firing comes when nothing else is left, at its virtual time.
 */
export class Scheduler {
  private readonly waiting = new Set<Release>();
  private readonly clock: ReplayClock;
  private readonly timers: VirtualTimers;
  private readonly quiescence: Rest;
  private readonly firings: FiringLookup;
  private unrecordedFirings = 0;
  private looksAgain = false;
  private drained: (() => void) | undefined;
  /** Asked at rest, before anything is released; true when it gave the program something itself. */
  atRest: () => boolean = () => false;
  /** Something that the program waits for would keep it alive, though nothing of it is left to give. */
  holdsProcess: () => boolean = () => false;

  constructor(parts: { clock: ReplayClock; timers: VirtualTimers; quiescence: Rest; firings: FiringLookup }) {
    this.clock = parts.clock;
    this.timers = parts.timers;
    this.quiescence = parts.quiescence;
    this.firings = parts.firings;
  }

  add(release: Release): void {
    this.waiting.add(release);
    this.wake();
  }

  cancel(release: Release): void {
    this.waiting.delete(release);
  }

  /** Looks again once the process is at rest, if there is anything to give. */
  wake(): void {
    this.quiescence.watch(() => this.step());
  }

  /** Goes on until nothing recorded waits any more; timers of which the recording knows no firing stay silent. */
  drain(): Promise<void> {
    return new Promise((resolve) => {
      this.drained = resolve;
      this.wake();
    });
  }

  /** @param staysAlive something other than the player keeps the program from its end. */
  private step(staysAlive = false): void {
    if (this.atRest()) return this.wake();
    const choice = this.choose();
    if (choice === undefined || (this.drained !== undefined && choice.seq === Infinity)) return this.drained?.();
    if (!staysAlive && !this.isHeld() && choice.ms > this.clock.now() + SAME_TURN_MS) return this.stepIfAlive();
    this.unrecordedFirings = choice.seq === Infinity ? this.unrecordedFirings + 1 : 0;
    if (this.unrecordedFirings > MAX_UNRECORDED_FIRINGS) {
      this.clock.goLive();
      this.timers.goLive();
      return;
    }
    try {
      this.give(choice);
    } finally {
      // A callback that throws belongs to the program, which may go on; so must the rest of the recording.
      this.wake();
    }
  }

  /**
   * All that is left are timers that do not keep a program alive. The recording may know firings of them, of a time when
   * the program had more to do (at its end it sends what it has collected); a program that is done must come to its end
   * first, as it did then.
   */
  private stepIfAlive(): void {
    if (this.looksAgain) return;
    this.looksAgain = true;
    const look = (): void => {
      this.looksAgain = false;
      this.quiescence.watch(() => this.step(true));
    };
    originals.setTimeout(look, LIFE_SIGN_MS).unref();
  }

  private isHeld(): boolean {
    return this.waiting.size > 0 || this.timers.hasRefed() || this.holdsProcess();
  }

  private give(choice: Choice): void {
    if (choice.kind === 'release') {
      this.waiting.delete(choice.release);
      this.clock.advanceTo(choice.release.ms);
      this.clock.passed(choice.release.sessionId, choice.seq);
      choice.release.run();
    } else {
      this.firings.take(choice.timer);
      this.clock.advanceTo(choice.ms);
      choice.timer.fire();
    }
  }

  private choose(): Choice | undefined {
    let best: Choice | undefined;
    for (const release of this.waiting) {
      if (best === undefined || release.seq < best.seq)
        best = { kind: 'release', release, seq: release.seq, ms: release.ms };
    }
    if (this.timers.isLive) return best;
    let earliest: VirtualTimer | undefined;
    for (const timer of this.timers.all()) {
      const firing = this.firings.peek(timer);
      if (firing !== undefined && (best === undefined || firing.seq < best.seq))
        best = { kind: 'timer', timer, ...firing };
      if (earliest === undefined || timer.dueMs < earliest.dueMs) earliest = timer;
    }
    if (best !== undefined || earliest === undefined || !this.isHeld()) return best;
    return { kind: 'timer', timer: earliest, seq: Infinity, ms: earliest.dueMs };
  }
}
