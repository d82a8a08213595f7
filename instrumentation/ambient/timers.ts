import timersModule from 'node:timers';
import timersPromises from 'node:timers/promises';
import { isCalledByNode, LONGEST_INTERNAL_DELAY } from './caller';
import { isWellFormed, iterateInterval } from './interval-iterator';
import type { SleepOptions } from './interval-iterator';
import { originals } from '../originals';
import { patch } from '../patches';

export type TimerKind = 'timeout' | 'interval' | 'sleep' | 'abort';

/**
 * Hears of timers while recording. `created` is called when the program makes one and returns what to call at each
 * firing, before the program's callback.
 */
export interface TimerObserver {
  created(kind: TimerKind, delay: number): () => void;
}

type Callback = (...args: unknown[]) => unknown;

/** Node's own rule for the delay of a timer (lib/internal/timers.js): at least 1, at most 2^31 - 1. */
export function timerDelay(delay: unknown): number {
  const n = Number(delay ?? 1);
  return n >= 1 && n <= 2_147_483_647 ? Math.trunc(n) : 1;
}

/** Looking at the caller costs some microseconds, so long delays, which are the program's, are not looked at. */
export function isInternal(callee: (...args: never[]) => unknown, delay: unknown): boolean {
  return !(Number(delay) > LONGEST_INTERNAL_DELAY) && isCalledByNode(callee);
}

/**
 * Wraps the callbacks of timers so that each firing takes its place in the order of events.
 *
 * What: setTimeout and setInterval (global, node:timers and node:timers/promises) and AbortSignal.timeout. Why here:
 * a time-out that won against an answer must win again in a replay. The real timer runs; only the callback is wrapped.
 * What breaks when it goes wrong: `this`, arguments, `refresh()`, promisify; the tests hold each.
 */
export function installTimerObserver(observer: TimerObserver): void {
  const observed = (kind: 'timeout' | 'interval', original: typeof originals.setTimeout) => {
    const timer = function (callback: Callback, delay?: number, ...args: unknown[]) {
      if (typeof callback !== 'function' || isInternal(timer, delay))
        return original(callback as never, delay, ...args);
      const fired = observer.created(kind, timerDelay(delay));
      const wrapped = function (this: unknown, ...passed: unknown[]): unknown {
        fired();
        return callback.apply(this, passed);
      };
      return original(wrapped, delay, ...args);
    };
    return timer;
  };
  const setTimeout = observed('timeout', originals.setTimeout) as unknown as typeof globalThis.setTimeout;
  const setInterval = observed('interval', originals.setInterval as never) as unknown as typeof globalThis.setInterval;
  // Before the patch, which would copy the original's own promisified form.
  observePromises(observer, setTimeout);
  installPromisedInterval({ setInterval, clearInterval: originals.clearInterval });
  for (const target of [globalThis, timersModule] as (typeof globalThis)[]) {
    patch(target, 'setTimeout', () => setTimeout);
    patch(target, 'setInterval', () => setInterval);
  }
  patch(
    AbortSignal,
    'timeout',
    (original) =>
      function timeout(delay: number) {
        const signal = original.call(AbortSignal, delay);
        const fired = observer.created('abort', timerDelay(delay));
        signal.addEventListener('abort', fired, { once: true });
        return signal;
      },
  );
}

/** Puts the iterator of node:timers/promises on top of these timers, so that its ticks are theirs. */
export function installPromisedInterval(timers: {
  setInterval: typeof globalThis.setInterval;
  clearInterval: typeof globalThis.clearInterval;
}): void {
  patch(
    timersPromises,
    'setInterval',
    (original) =>
      function setInterval<T>(delay?: number, value?: T, options?: SleepOptions) {
        if (!isWellFormed(delay, options)) return original(delay, value, options);
        return iterateInterval(timers, {
          value,
          ...(delay !== undefined && { delay }),
          ...(options !== undefined && { options }),
        });
      } as typeof timersPromises.setInterval,
  );
}

function observePromises(observer: TimerObserver, setTimeout: typeof globalThis.setTimeout): void {
  const original = {
    setTimeout: timersPromises.setTimeout,
    wait: timersPromises.scheduler.wait.bind(timersPromises.scheduler),
  };
  const sleep = async <T>(real: Promise<T>, delay: unknown): Promise<T> => {
    const fired = observer.created('sleep', timerDelay(delay));
    const value = await real;
    fired();
    return value;
  };
  const promised = function (delay?: number, value?: unknown, options?: object) {
    return sleep(original.setTimeout(delay, value, options), delay);
  } as typeof timersPromises.setTimeout;
  patch(timersPromises, 'setTimeout', () => promised);
  patch(
    timersPromises.scheduler,
    'wait',
    () =>
      function wait(delay: number, options?: object) {
        return sleep(original.wait(delay, options), delay);
      } as typeof timersPromises.scheduler.wait,
  );
  Object.defineProperty(setTimeout, PROMISIFY, { value: promised, configurable: true, enumerable: true });
}

const PROMISIFY = Symbol.for('nodejs.util.promisify.custom');
