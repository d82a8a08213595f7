/** Where clock reads of the program come from: the real clock (recording) or the recorded one (replay). */
export interface ClockSource {
  /** Epoch milliseconds, whole. @param callee set when `Date.now` was called, which Node's own code does too. */
  date(callee?: () => number): number;
  /** Microseconds since the process started, with fractions. */
  monotonic(): number;
  /** Microseconds since the process started, as `process.uptime` counts them; one stream with `monotonic`. */
  uptime(): number;
  /** Epoch milliseconds at which the process started. */
  timeOrigin(): number;
}
