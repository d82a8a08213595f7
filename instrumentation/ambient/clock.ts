import { originals } from '../originals';
import { patch, replaceProperty } from '../patches';
import { installIntl } from './intl';
import { installPerformance } from './performance';
import type { ClockSource } from './clock-source';

/**
 * Replaces `Date`, `performance.now`, `process.hrtime` and `process.uptime`.
 *
 * What: the global constructor and the monotonic clocks. Why here: Node's own code keeps private copies, so its
 * time-outs and protocols stay on real time and only the program's reads are seen. What breaks when it goes wrong:
 * `instanceof Date`, subclasses, `Date()` as a function; the tests hold each.
 */
export function installClock(source: ClockSource): void {
  patch(globalThis, 'Date', () => makeDate(source));
  patch(process, 'hrtime', (original) => makeHrtime(original, source));
  patch(process, 'uptime', () => ({ uptime: () => source.uptime() / 1_000_000 }).uptime);
  installPerformance(source);
  installIntl(source);
}

function makeDate(source: ClockSource): DateConstructor {
  const Original = originals.Date;
  const Patched = function (this: unknown, ...args: unknown[]): unknown {
    if (new.target === undefined) return new Original(source.date()).toString();
    const values = args.length === 0 ? [source.date()] : args;
    return new.target === Patched ? new Original(...(values as [])) : Reflect.construct(Original, values, new.target);
  } as unknown as DateConstructor;
  for (const key of Reflect.ownKeys(Original)) {
    const descriptor = Object.getOwnPropertyDescriptor(Original, key);
    if (descriptor !== undefined) Object.defineProperty(Patched, key, descriptor);
  }
  const { now } = { now: (): number => source.date(now) };
  Object.defineProperty(Patched, 'now', { value: now, configurable: true, writable: true });
  // Instances of both constructors must answer `instanceof` and `constructor` alike.
  replaceProperty(Original.prototype, 'constructor', { value: Patched, configurable: true, writable: true });
  return Patched;
}

function makeHrtime(original: NodeJS.HRTime, source: ClockSource): NodeJS.HRTime {
  const hrtime = function (previous?: [number, number]): [number, number] {
    // What the original refuses, it refuses itself.
    if (previous !== undefined && (!Array.isArray(previous) || previous.length !== 2)) return original(previous);
    const nanoseconds = source.hrtimeOrigin() + BigInt(Math.round(source.monotonic() * 1000));
    const now: [number, number] = [Number(nanoseconds / 1_000_000_000n), Number(nanoseconds % 1_000_000_000n)];
    if (previous === undefined) return now;
    const nanos = now[1] - previous[1];
    return nanos < 0 ? [now[0] - previous[0] - 1, nanos + 1_000_000_000] : [now[0] - previous[0], nanos];
  } as NodeJS.HRTime;
  hrtime.bigint = function bigint() {
    return source.hrtimeOrigin() + BigInt(Math.round(source.monotonic() * 1000));
  };
  return hrtime;
}
