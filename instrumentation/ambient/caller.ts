/**
 * True when the code that called `callee` is Node's own (e.g. the built-in undici, which makes its
 * timers through the globals). Such timers stay real and unrecorded: they differ from run to run.
 */
export function isCalledByNode(callee: (...args: never[]) => unknown): boolean {
  // A program may freeze the intrinsics; then nothing can be told, and its timers are taken for its own.
  if (Object.isFrozen(Error)) return false;
  const { prepareStackTrace, stackTraceLimit } = Error;
  const holder: { stack?: unknown } = {};
  Error.stackTraceLimit = 1;
  Error.prepareStackTrace = (_error, frames) => frames[0]?.getFileName() ?? '';
  try {
    Error.captureStackTrace(holder, callee);
    return typeof holder.stack === 'string' && holder.stack.startsWith('node:');
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
    if (prepareStackTrace === undefined) Reflect.deleteProperty(Error, 'prepareStackTrace');
    else Error.prepareStackTrace = prepareStackTrace;
  }
}

/** Node's built-in undici makes timers of its own only up to this delay; longer ones share a tick (lib/util/timers.js). */
export const LONGEST_INTERNAL_DELAY = 1_000;
