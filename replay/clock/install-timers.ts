import timersModule from 'node:timers';
import timersPromises from 'node:timers/promises';
import { abortError, isWellFormed } from '../../instrumentation/ambient/interval-iterator';
import type { SleepOptions } from '../../instrumentation/ambient/interval-iterator';
import { installPromisedInterval, isInternal, timerDelay } from '../../instrumentation/ambient/timers';
import type { TimerKind } from '../../instrumentation/ambient/timers';
import { nextOrdinal } from '../../instrumentation/context';
import type { ScopeStorage } from '../../instrumentation/context';
import { originals } from '../../instrumentation/originals';
import { patch } from '../../instrumentation/patches';
import { VirtualTimer } from './virtual-timers';
import type { VirtualTimers } from './virtual-timers';

type Callback = (...args: unknown[]) => unknown;

/**
 * Replaces the timers of the program by virtual ones.
 *
 * What: setTimeout, setInterval and their clear functions (global, node:timers, node:timers/promises) and
 * AbortSignal.timeout; setImmediate, nextTick and microtasks stay. Why here: waiting then jumps with the log instead of
 * taking real time. What breaks when it goes wrong: the program waits for ever or too short; Node's own code (the
 * built-in undici among it) keeps real timers.
 */
export function installVirtualTimers(timers: VirtualTimers, scopes: ScopeStorage): void {
  const create = (kind: TimerKind, delay: number, fn: () => void): VirtualTimer => {
    const scope = scopes.current();
    const key = `${kind}.${delay}`;
    const timer = new VirtualTimer(timers, {
      identity: { scope: scope.path, key, ordinal: nextOrdinal(scope, key) },
      kind,
      delay,
      fn,
    });
    timers.add(timer);
    return timer;
  };
  const untracked = (): boolean => scopes.isUntracked();
  const sleep = installPromises(create, untracked);
  const make = <F>(kind: 'timeout' | 'interval', original: F): F => {
    const timer = function (callback: Callback, delay?: number, ...args: unknown[]): unknown {
      if (typeof callback !== 'function' || untracked() || isInternal(timer, delay))
        return (original as typeof originals.setTimeout)(callback as never, delay, ...args);
      const virtual: VirtualTimer = create(kind, timerDelay(delay), () => void callback.apply(virtual, args));
      return virtual;
    };
    // Before the patch, which would copy the original's own promisified form.
    if (kind === 'timeout')
      Object.defineProperty(timer, PROMISIFY, { value: sleep, configurable: true, enumerable: true });
    return timer as F;
  };
  const makeClear = <F>(original: F): F =>
    function (handle?: unknown): void {
      if (!timers.clear(handle)) (original as typeof originals.clearTimeout)(handle as never);
    } as F;
  // A global function and that of node:timers are one, and stay one.
  const once = <F>(make: (original: F) => F): ((original: F) => F) => {
    const made = new Map<F, F>();
    return (original) => {
      const known = made.get(original) ?? make(original);
      made.set(original, known);
      return known;
    };
  };
  const replacements = {
    setTimeout: once<typeof setTimeout>((original) => make('timeout', original)),
    setInterval: once<typeof setInterval>((original) => make('interval', original)),
    clearTimeout: once<typeof clearTimeout>(makeClear),
    clearInterval: once<typeof clearInterval>(makeClear),
  };
  for (const target of [globalThis, timersModule] as (typeof globalThis)[]) {
    patch(target, 'setTimeout', replacements.setTimeout);
    patch(target, 'setInterval', replacements.setInterval);
    patch(target, 'clearTimeout', replacements.clearTimeout);
    patch(target, 'clearInterval', replacements.clearInterval);
  }
  const { setInterval, clearInterval } = timersModule;
  installPromisedInterval({ setInterval, clearInterval });
  patch(
    AbortSignal,
    'timeout',
    (original) =>
      function timeout(delay: number) {
        // What Node refuses, it refuses itself.
        if (untracked() || !Number.isInteger(delay) || delay < 0 || delay > 4_294_967_295)
          return original.call(AbortSignal, delay);
        const controller = new AbortController();
        const reason = (): DOMException => new DOMException('The operation was aborted due to timeout', 'TimeoutError');
        create('abort', timerDelay(delay), () => controller.abort(reason())).unref();
        return controller.signal;
      },
  );
}

const PROMISIFY = Symbol.for('nodejs.util.promisify.custom');

type Sleep = typeof timersPromises.setTimeout;

/** Replaces the timers of promises; the result is also the promisified form of `setTimeout`. */
function installPromises(
  create: (kind: TimerKind, delay: number, fn: () => void) => VirtualTimer,
  untracked: () => boolean,
): Sleep {
  const original = { sleep: timersPromises.setTimeout, wait: timersPromises.scheduler.wait };
  const isOurs = (delay: unknown, options: SleepOptions | undefined): boolean =>
    !untracked() && isWellFormed(delay, options);
  const sleep = <T>(delay?: number, value?: T, options: SleepOptions = {}): Promise<T> => {
    if (!isOurs(delay, options)) return original.sleep(delay, value, options);
    return new Promise((resolve, reject) => {
      const { signal } = options;
      if (signal?.aborted) return reject(abortError(signal));
      const onAbort = (): void => {
        timer.close();
        if (signal !== undefined) reject(abortError(signal));
      };
      const timer = create('sleep', timerDelay(delay), () => {
        signal?.removeEventListener('abort', onAbort);
        resolve(value as T);
      });
      if (options.ref === false) timer.unref();
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  };
  patch(timersPromises, 'setTimeout', () => sleep as Sleep);
  patch(
    timersPromises.scheduler,
    'wait',
    () =>
      function wait(delay: number, options?: SleepOptions) {
        return isOurs(delay, options)
          ? sleep(delay, undefined, options)
          : original.wait.call(timersPromises.scheduler, delay, options);
      } as typeof timersPromises.scheduler.wait,
  );
  return sleep as Sleep;
}
