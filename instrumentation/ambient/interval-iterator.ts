type SetInterval = (callback: () => void, delay?: number) => { ref(): unknown; unref(): unknown };

export interface SleepOptions {
  readonly signal?: AbortSignal;
  readonly ref?: boolean;
}

/** What Node's own check of these arguments lets pass; all else is left to the original, which refuses it. */
export function isWellFormed(delay: unknown, options: unknown): options is SleepOptions | undefined {
  if (delay !== undefined && typeof delay !== 'number') return false;
  if (options === undefined) return true;
  if (typeof options !== 'object' || options === null) return false;
  const { signal, ref } = options as { signal?: unknown; ref?: unknown };
  const hasAborted = typeof signal === 'object' && signal !== null && 'aborted' in signal;
  return (signal === undefined || hasAborted) && (ref === undefined || typeof ref === 'boolean');
}

/** The error that Node's timers reject with when their signal aborts. */
export function abortError(signal: AbortSignal): Error {
  const error = new Error('The operation was aborted', { cause: signal.reason });
  return Object.assign(error, { code: 'ABORT_ERR', name: 'AbortError' });
}

/**
 * The asynchronous iterator of `setInterval` of node:timers/promises over any interval timer, by the algorithm of Node
 * (lib/timers/promises.js): the timer starts with the first `next()`, and a slow reader is given what it missed.
 */
export async function* iterateInterval<T>(
  timers: { setInterval: SetInterval; clearInterval: (timer: never) => void },
  { delay, value, options = {} }: { delay?: number; value: T; options?: SleepOptions },
): AsyncGenerator<T> {
  const { signal, ref = true } = options;
  if (signal?.aborted) throw abortError(signal);
  let due = 0;
  let wake: (() => void) | undefined;
  const awake = (): void => {
    wake?.();
    wake = undefined;
  };
  const timer = timers.setInterval(() => {
    due += 1;
    awake();
  }, delay);
  if (!ref) timer.unref();
  const onAbort = (): void => {
    timers.clearInterval(timer as never);
    awake();
  };
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    while (signal?.aborted !== true) {
      if (due === 0) await new Promise<void>((resolve) => (wake = resolve));
      for (; due > 0; due--) yield value;
    }
    throw abortError(signal);
  } finally {
    timers.clearInterval(timer as never);
    signal?.removeEventListener('abort', onAbort);
  }
}
