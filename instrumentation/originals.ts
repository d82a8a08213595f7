/**
 * The functions of the runtime as they were when the preload ran. Our own code uses only these: the program's copies
 * may be recorded, virtual, or replaced by the program, and our reads must not count among the program's.
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
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setInterval: globalThis.setInterval,
  clearInterval: globalThis.clearInterval,
  setImmediate: globalThis.setImmediate,
  clearImmediate: globalThis.clearImmediate,
  queueMicrotask: globalThis.queueMicrotask,
} as const;
