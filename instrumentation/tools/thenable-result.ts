type Settled = (value: unknown) => void;
type Then = (this: unknown, resolve?: unknown, reject?: unknown) => unknown;

function readThen(value: object): unknown {
  try {
    return (value as { then?: unknown }).then;
  } catch {
    // Whoever waits for it will meet the same error; it is a value that cannot be read, and recorded as one.
    return undefined;
  }
}

/**
 * Tells how a promise settles; false for what is none.
 *
 * A promise with the `then` of the language gets a side branch, whose failure stays the program's to handle. The `then`
 * of anything else may do the work (a query that runs when it is awaited), so it is never called by us: this one
 * object's `then` is replaced by one that listens as the program calls it. What breaks when wrong: the waiting for
 * that object. One that is never waited for ends as open.
 */
export function watchThenable(value: unknown, resolved: Settled, rejected: Settled): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const then = readThen(value);
  if (typeof then !== 'function') return false;
  if (then === Promise.prototype.then) {
    (value as Promise<unknown>).then(resolved, rejected);
    return true;
  }
  const listening = (tell: Settled, callback: unknown): unknown =>
    typeof callback === 'function'
      ? (settled: unknown): unknown => {
          tell(settled);
          return (callback as (settled: unknown) => unknown)(settled);
        }
      : callback;
  const watched = function (this: unknown, resolve?: unknown, reject?: unknown): unknown {
    return (then as Then).call(this, listening(resolved, resolve), listening(rejected, reject));
  };
  return Reflect.defineProperty(value, 'then', {
    value: watched,
    configurable: true,
    writable: true,
    enumerable: Object.getOwnPropertyDescriptor(value, 'then')?.enumerable ?? false,
  });
}
