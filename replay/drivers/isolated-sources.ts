import type { ClockSource } from '../../instrumentation/ambient/clock-source';
import type { DrawSource } from '../../instrumentation/ambient/crypto';
import type { ScopeStorage } from '../../instrumentation/context';
import { originals } from '../../instrumentation/originals';

/** The replay's time inside, the real one for all other code. */
export function isolatedClock(inner: ClockSource, scopes: ScopeStorage): ClockSource {
  return {
    date: (callee) => (scopes.isUntracked() ? originals.dateNow() : inner.date(callee)),
    monotonic: () => (scopes.isUntracked() ? originals.performanceNow() * 1000 : inner.monotonic()),
    uptime: () => (scopes.isUntracked() ? originals.uptime() * 1_000_000 : inner.uptime()),
    timeOrigin: () => (scopes.isUntracked() ? originals.timeOrigin : inner.timeOrigin()),
    hrtimeOrigin: () => (scopes.isUntracked() ? originals.hrtimeOrigin : inner.hrtimeOrigin()),
  };
}

/** Recorded draws inside, true randomness for all other code. */
export function isolatedDraws(inner: DrawSource, scopes: ScopeStorage): DrawSource {
  return {
    draw: (op, length, produce) => (scopes.isUntracked() ? produce() : inner.draw(op, length, produce)),
  };
}
