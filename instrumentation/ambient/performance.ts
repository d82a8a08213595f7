import perfHooks from 'node:perf_hooks';
import { isCalledByNode } from './caller';
import { replaceProperty } from '../patches';
import type { ClockSource } from './clock-source';

/**
 * Gives the program a `performance` of its own whose time comes from `source`.
 *
 * What: the global and the export of node:perf_hooks, by an object that hands everything else to the original. Why
 * here: Node's built-in undici keeps the original, so its reads, whose number differs from run to run, do not stand
 * among the program's. What breaks when it goes wrong: `performance.mark` and friends, `instanceof Performance`.
 */
export function installPerformance(source: ClockSource): void {
  const descriptor = Object.getOwnPropertyDescriptor(globalThis, 'performance');
  if (descriptor?.configurable !== true) return;
  const original = performance;
  const own = delegateTo(original);
  for (const [name, value] of Object.entries(timed(original, source)))
    Object.defineProperty(own, name, { value, configurable: true, writable: true });
  Object.defineProperty(own, 'timeOrigin', { get: () => source.timeOrigin(), configurable: true });
  replaceProperty(globalThis, 'performance', {
    configurable: true,
    enumerable: descriptor.enumerable === true,
    writable: true,
    value: own,
  });
  const get = (): typeof original => (isCalledByNode(get) ? original : own);
  replaceProperty(perfHooks, 'performance', { configurable: true, enumerable: true, get });
}

type Original = typeof performance;
type MeasureOptions = Exclude<Parameters<Original['measure']>[1], string | undefined>;

/**
 * The members that read the clock. Entries are made by the original, with the time said where it would read it; it also
 * refuses what is no argument for it.
 */
function timed(original: Original, source: ClockSource): Record<string, (...args: never[]) => unknown> {
  const { now } = { now: (): number => source.monotonic() / 1000 };
  const isPlain = (value: unknown): boolean => value === undefined || typeof value === 'object';
  return {
    now,
    mark(name: string, ...rest: Parameters<Original['mark']> extends [unknown, ...infer R] ? R : never) {
      const [options] = rest;
      if (name === undefined || !isPlain(options) || options?.startTime !== undefined)
        return original.mark(...([name, ...rest].slice(0, name === undefined ? 0 : 2) as [string]));
      return original.mark(name, { ...options, startTime: now() });
    },
    measure(name: string, ...rest: [start?: string | MeasureOptions, end?: string]) {
      const [start, end] = rest;
      if (name === undefined || end !== undefined || (typeof start !== 'string' && !isPlain(start)))
        return original.measure(...([name, ...rest].slice(0, name === undefined ? 0 : 3) as [string]));
      const given = typeof start === 'string' ? { start } : (start ?? {});
      const endsByItself = given.end !== undefined || (given.start !== undefined && given.duration !== undefined);
      return original.measure(name, endsByItself ? given : { ...given, end: now() });
    },
    toJSON() {
      return { ...(original.toJSON() as object), timeOrigin: source.timeOrigin() };
    },
  };
}

/** An object of the same class whose members work on the original: they check their `this`. */
function delegateTo<T extends object>(original: T): T {
  const own = Object.create(Object.getPrototypeOf(original) as object) as T;
  for (let at: unknown = original; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const key of Reflect.ownKeys(at as object)) {
      if (key === 'constructor' || Object.hasOwn(own, key)) continue;
      const descriptor = Object.getOwnPropertyDescriptor(at, key);
      if (descriptor === undefined) continue;
      const { get, set, value } = descriptor;
      if (typeof value === 'function')
        Object.defineProperty(own, key, {
          ...descriptor,
          configurable: true,
          // The original inherits its members: none is its own to a loop over keys.
          enumerable: false,
          value: (value as () => unknown).bind(original),
        });
      else if (get !== undefined)
        Object.defineProperty(own, key, {
          configurable: true,
          enumerable: false,
          get: get.bind(original),
          ...(set && { set: set.bind(original) }),
        });
    }
  }
  return own;
}
