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
