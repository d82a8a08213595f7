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
  const untracked = (): boolean => scopes.isUntracked();
  const replacements = new Map<unknown, unknown>();
  // The global function and that of node:timers are one, and stay one.
  const make = <F>(kind: 'timeout' | 'interval', original: F): F => {
    const known = replacements.get(original) as F | undefined;
    if (known !== undefined) return known;
    const timer = function (callback: Callback, delay?: number, ...args: unknown[]): unknown {
      if (typeof callback !== 'function' || untracked() || isInternal(timer, delay))
        return (original as typeof originals.setTimeout)(callback as never, delay, ...args);
      const virtual: VirtualTimer = create(kind, timerDelay(delay), () => void callback.apply(virtual, args));
      return virtual;
    };
    // Before the patch, which would copy the original's own promisified form.
    if (kind === 'timeout')
      Object.defineProperty(timer, PROMISIFY, { value: sleep, configurable: true, enumerable: true });
    replacements.set(original, timer);
    return timer as F;
  };
  const clear =
    <F>(original: F) =>
    (handle?: unknown): void => {
      if (!timers.clear(handle)) (original as typeof originals.clearTimeout)(handle as never);
    };
  const sleep = installPromises(create, untracked);
  for (const target of [globalThis, timersModule] as (typeof globalThis)[]) {
    patch(target, 'setTimeout', (original) => make('timeout', original));
    patch(target, 'setInterval', (original) => make('interval', original));
    patch(target, 'clearTimeout', (original) => clear(original) as typeof globalThis.clearTimeout);
    patch(target, 'clearInterval', (original) => clear(original) as typeof globalThis.clearInterval);
  }
  patch(
    AbortSignal,
    'timeout',
    (original) =>
      function timeout(delay: number) {
        if (untracked()) return original.call(AbortSignal, delay);
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

type Sleep = typeof timersPromises.setTimeout;

/** Replaces the timers of promises; the result is also the promisified form of `setTimeout`. */
function installPromises(
  create: (kind: TimerKind, delay: number, fn: () => void) => VirtualTimer,
  untracked: () => boolean,
): Sleep {
  const virtual = <T>(delay?: number, value?: T, options: SleepOptions = {}): Promise<T> =>
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
  const real = timersPromises.setTimeout;
  const sleep = (<T>(delay?: number, value?: T, options?: SleepOptions): Promise<T> =>
    untracked() ? real(delay, value, options) : virtual(delay, value, options)) as Sleep;
  patch(timersPromises, 'setTimeout', () => sleep);
  patch(timersPromises.scheduler, 'wait', (original) => {
    const wait = original.bind(timersPromises.scheduler);
    return ((delay: number, options?: SleepOptions) =>
      untracked() ? wait(delay, options) : virtual(delay, undefined, options)) as typeof original;
  });
  return sleep;
}
