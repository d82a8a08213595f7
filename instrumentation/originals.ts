import { performance } from 'node:perf_hooks';
import timers from 'node:timers';

/**
 * The functions of the runtime as they were when the preload ran. Our own code uses only these: the program's copies
 * may be recorded, virtual, or replaced by the program, and our reads must not count among the program's.
 * Timers come from `node:timers`: in the sandbox of a test runner the global ones may be a mock.
 */
export const originals = {
  Date: globalThis.Date,
  dateNow: globalThis.Date.now.bind(globalThis.Date),
  performanceNow: performance.now.bind(performance),
  timeOrigin: performance.timeOrigin,
  hrtime: process.hrtime,
  hrtimeBigint: process.hrtime.bigint.bind(process.hrtime),
  /** What `process.hrtime.bigint()` was when `performance.now()` was 0: it counts from a moment of the machine. */
  hrtimeOrigin: process.hrtime.bigint() - BigInt(Math.round(performance.now() * 1_000_000)),
  uptime: process.uptime.bind(process),
  random: Math.random,
  setTimeout: timers.setTimeout,
  clearTimeout: timers.clearTimeout,
  setInterval: timers.setInterval,
  clearInterval: timers.clearInterval,
  setImmediate: timers.setImmediate,
  clearImmediate: timers.clearImmediate,
  queueMicrotask: globalThis.queueMicrotask,
} as const;
