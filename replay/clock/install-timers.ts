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
  const make = (kind: 'timeout' | 'interval', original: typeof originals.setTimeout) => {
    const timer = function (callback: Callback, delay?: number, ...args: unknown[]): unknown {
      if (typeof callback !== 'function' || scopes.isUntracked() || isInternal(timer, delay))
        return original(callback as never, delay, ...args);
      const virtual: VirtualTimer = create(kind, timerDelay(delay), () => void callback.apply(virtual, args));
      return virtual;
    };
    return timer;
  };
  const setTimeout = make('timeout', originals.setTimeout) as unknown as typeof globalThis.setTimeout;
  const setInterval = make('interval', originals.setInterval as never) as unknown as typeof globalThis.setInterval;
  // Before the patch, which would copy the original's own promisified form.
  installPromises(create, setTimeout);
  const makeClear = () =>
    function (handle?: unknown): void {
      if (!timers.clear(handle)) originals.clearTimeout(handle as never);
    } as typeof globalThis.clearTimeout;
  const [clearTimeout, clearInterval] = [makeClear(), makeClear()];
  for (const target of [globalThis, timersModule] as (typeof globalThis)[]) {
    patch(target, 'setTimeout', () => setTimeout);
    patch(target, 'setInterval', () => setInterval);
    patch(target, 'clearTimeout', () => clearTimeout);
    patch(target, 'clearInterval', () => clearInterval);
  }
  installPromisedInterval({ setInterval, clearInterval });
  patch(
    AbortSignal,
    'timeout',
    (original) =>
      function timeout(delay: number) {
        // What Node refuses, it refuses itself.
        if (!Number.isInteger(delay) || delay < 0 || delay > 4_294_967_295) return original.call(AbortSignal, delay);
        const controller = new AbortController();
        const reason = (): DOMException => new DOMException('The operation was aborted due to timeout', 'TimeoutError');
        create('abort', timerDelay(delay), () => controller.abort(reason())).unref();
        return controller.signal;
      },
  );
}

const PROMISIFY = Symbol.for('nodejs.util.promisify.custom');

function installPromises(
  create: (kind: TimerKind, delay: number, fn: () => void) => VirtualTimer,
  setTimeout: typeof globalThis.setTimeout,
): void {
  const original = { sleep: timersPromises.setTimeout, wait: timersPromises.scheduler.wait };
  const sleep = <T>(delay?: number, value?: T, options: SleepOptions = {}): Promise<T> => {
    if (!isWellFormed(delay, options)) return original.sleep(delay, value, options);
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
  patch(timersPromises, 'setTimeout', () => sleep as typeof timersPromises.setTimeout);
  patch(
    timersPromises.scheduler,
    'wait',
    () =>
      function wait(delay: number, options?: SleepOptions) {
        return isWellFormed(delay, options)
          ? sleep(delay, undefined, options)
          : original.wait.call(timersPromises.scheduler, delay, options);
      } as typeof timersPromises.scheduler.wait,
  );
  Object.defineProperty(setTimeout, PROMISIFY, { value: sleep, configurable: true, enumerable: true });
}
