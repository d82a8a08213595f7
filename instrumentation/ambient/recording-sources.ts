import { nextOrdinal } from '../context';
import type { Scope } from '../context';
import { originals } from '../originals';
import { Prng } from '../prng';
import type { Recorder } from '../recorder';
import type { ClockSource } from './clock-source';
import type { DrawSource } from './crypto';
import type { TimerObserver } from './timers';

/** The real clock; each read is logged under the scope that made it, placed by the event it follows. */
export function recordingClock(recorder: Recorder): ClockSource {
  const { scopes, ambient } = recorder;
  const monotonic = (value: number): number => {
    if (!scopes.isUntracked()) {
      const scope = scopes.current();
      ambient.clockRead('p', scope.path, { after: scope.session.progress.lastSeq, value });
    }
    return value;
  };
  return {
    timeOrigin: () => originals.timeOrigin,
    hrtimeOrigin: () => originals.hrtimeOrigin,
    date(callee) {
      const value = originals.dateNow();
      if (!recorder.internalReads.isInternal(callee) && !scopes.isUntracked()) {
        const scope = scopes.current();
        ambient.clockRead('d', scope.path, { after: scope.session.progress.lastSeq, value });
      }
      return value;
    },
    // Whole microseconds, so that a replay can give the same value to the last digit.
    monotonic: () => monotonic(Math.round(originals.performanceNow() * 1000)),
    uptime: () => monotonic(Math.round(originals.uptime() * 1_000_000)),
  };
}

/** One stream per scope from one recorded seed, so that what one tool draws does not shift what another sees. */
export function scopedRandom(recorder: Recorder, seed: string): () => number {
  const draw = (scope: Scope): number => (scope.random ??= new Prng(`${seed}|${scope.path}`)).double();
  return () => draw(recorder.scopes.current());
}

/** True randomness, logged. */
export function recordingDraws(recorder: Recorder): DrawSource {
  const { scopes, ambient, options } = recorder;
  return {
    draw(op, _length, produce) {
      const bytes = produce();
      if (!scopes.isUntracked())
        options.diagnostics.guard('log of a draw', () => ambient.draw(scopes.current().path, op, bytes));
      return bytes;
    },
  };
}

/** Real timers; each firing takes its place in the order of events. */
export function recordingTimers(recorder: Recorder): TimerObserver {
  const { scopes, ambient, options } = recorder;
  return {
    created(kind, delay) {
      // Our own timers must not take the ordinals of the program's: a replay does not make them.
      if (scopes.isUntracked()) return () => undefined;
      const scope = scopes.current();
      const key = `${kind}.${delay}`;
      const ordinal = nextOrdinal(scope, key);
      return () => {
        options.diagnostics.guard('log of a timer', () => {
          const seq = recorder.nextSeq(scope.session);
          ambient.timer(scope.path, { key, ordinal, seq, ms: options.clock.now() - options.facts.startMs });
        });
      };
    },
  };
}
