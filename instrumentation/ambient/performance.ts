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
  Object.defineProperty(own, 'now', {
    value: { now: () => source.monotonic() / 1000 }.now,
    configurable: true,
    writable: true,
  });
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
          value: (value as () => unknown).bind(original),
        });
      else if (get !== undefined)
        Object.defineProperty(own, key, {
          configurable: true,
          enumerable: descriptor.enumerable === true,
          get: get.bind(original),
          ...(set && { set: set.bind(original) }),
        });
    }
  }
  return own;
}
