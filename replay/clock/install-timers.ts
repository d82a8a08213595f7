import timersModule from 'node:timers';
import timersPromises from 'node:timers/promises';
import { isInternal, timerDelay } from '../../instrumentation/ambient/timers';
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
  const clear = function (handle?: unknown): void {
    if (!timers.clear(handle)) originals.clearTimeout(handle as never);
  };
  for (const target of [globalThis, timersModule] as (typeof globalThis)[]) {
    patch(target, 'setTimeout', () => setTimeout);
    patch(target, 'setInterval', () => setInterval);
    patch(target, 'clearTimeout', () => clear as typeof globalThis.clearTimeout);
    patch(target, 'clearInterval', () => clear as typeof globalThis.clearInterval);
  }
  patch(
    AbortSignal,
    'timeout',
    () =>
      function timeout(delay: number) {
        const controller = new AbortController();
        const reason = (): DOMException => new DOMException('The operation was aborted due to timeout', 'TimeoutError');
        create('abort', timerDelay(delay), () => controller.abort(reason())).unref();
        return controller.signal;
      },
  );
}

const PROMISIFY = Symbol.for('nodejs.util.promisify.custom');

interface SleepOptions {
  readonly signal?: AbortSignal;
  readonly ref?: boolean;
}

function installPromises(
  create: (kind: TimerKind, delay: number, fn: () => void) => VirtualTimer,
  setTimeout: typeof globalThis.setTimeout,
): void {
  const sleep = <T>(delay?: number, value?: T, options: SleepOptions = {}): Promise<T> =>
    new Promise((resolve, reject) => {
      const { signal } = options;
      const aborted = (): Error =>
        Object.assign(new Error('The operation was aborted', { cause: signal?.reason }), {
          name: 'AbortError',
          code: 'ABORT_ERR',
        });
      if (signal?.aborted) return reject(aborted());
      const onAbort = (): void => {
        timer.close();
        reject(aborted());
      };
      const timer = create('sleep', timerDelay(delay), () => {
        signal?.removeEventListener('abort', onAbort);
        resolve(value as T);
      });
      if (options.ref === false) timer.unref();
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  patch(timersPromises, 'setTimeout', () => sleep as typeof timersPromises.setTimeout);
  patch(
    timersPromises.scheduler,
    'wait',
    () =>
      ((delay: number, options?: SleepOptions) =>
        sleep(delay, undefined, options)) as typeof timersPromises.scheduler.wait,
  );
  Object.defineProperty(setTimeout, PROMISIFY, { value: sleep, configurable: true, enumerable: true });
}
