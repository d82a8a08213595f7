import { runInThisContext } from 'node:vm';
import { isCalledByNode } from '../ambient/caller';
import type { TapContext } from './guarded-exchange';
import type { PendingBody } from './pending-body';

const DISPATCHERS = [Symbol.for('undici.globalDispatcher.1'), Symbol.for('undici.globalDispatcher.2')] as const;

type Fetch = typeof globalThis.fetch;
type TapDispatcher = (dispatcher: object, pending: PendingBody) => void;

/**
 * Makes sure that a dispatcher is tapped before `fetch` uses it, without loading Node's undici (20 ms) at start-up.
 */
export function installFetchTap(context: TapContext, tap: TapDispatcher): () => void {
  const watch = new DispatcherWatch(context, tap);
  const undo = [replaceFetch(watch), watchLoading(watch)];
  return () => {
    for (const remove of undo) remove();
  };
}

/** Knows which dispatchers have been seen, and what body `fetch` has just been given. */
class DispatcherWatch implements PendingBody {
  private readonly context: TapContext;
  private readonly tap: TapDispatcher;
  /** Where undici keeps its dispatchers: not the global object of a test runner's sandbox, but Node's own. */
  readonly realm = runInThisContext('globalThis') as object;
  private readonly seen = new WeakSet<object>();
  private body: unknown;

  constructor(context: TapContext, tap: TapDispatcher) {
    this.context = context;
    this.tap = tap;
  }

  take(): unknown {
    const { body } = this;
    this.body = undefined;
    return body;
  }

  /** Around one call of `fetch`, which dispatches its first request before it returns. */
  call<T>(init: unknown, fetch: () => T): T {
    this.body = this.guard(() => ownValue(init, 'body'));
    try {
      return fetch();
    } finally {
      this.body = undefined;
    }
  }

  /** The program may set another global dispatcher, or hand one over with the call, at any time. */
  check(init: unknown): void {
    this.guard(() => {
      for (const key of DISPATCHERS) this.add(ownValue(this.realm, key));
      this.add(ownValue(init, 'dispatcher'));
    });
  }

  load(original: Fetch): void {
    if (this.isLoaded()) return;
    const loaded = this.loading();
    this.guard(() => {
      // Reading one of undici's lazy globals loads it; a program may have replaced some of them by a polyfill.
      for (const name of ['Headers', 'Response', 'FormData'] as const) {
        if (!this.isLoaded()) void globalThis[name];
      }
      // None of them is Node's own: a request that needs no network loads it too.
      if (!this.isLoaded()) void original('data:,').catch(() => undefined);
    });
    loaded();
  }

  /** Node's undici loads now; call the result when it has. */
  loading(): () => void {
    const loaded = this.guard(() => this.context.whileLoading?.());
    return () => this.guard(() => loaded?.());
  }

  private isLoaded(): boolean {
    return isObject(ownValue(this.realm, DISPATCHERS[0])) || isObject(ownValue(this.realm, DISPATCHERS[1]));
  }

  private add(dispatcher: unknown): void {
    if (!isObject(dispatcher) || this.seen.has(dispatcher)) return;
    this.seen.add(dispatcher);
    this.tap(dispatcher, this);
  }

  private guard<T>(fn: () => T): T | undefined {
    try {
      return fn();
    } catch (error) {
      this.context.onFailure('tap fetch', error);
      return undefined;
    }
  }
}

/**
 * Replaces `globalThis.fetch` by a function that taps first and then calls the original with the same arguments.
 * Why here: it is the only moment before the first request at which undici may be loaded without delaying the start.
 * If it went wrong: no fetch of the process would work.
 */
function replaceFetch(watch: DispatcherWatch): () => void {
  const descriptor = Object.getOwnPropertyDescriptor(globalThis, 'fetch');
  const original = descriptor?.value as Fetch | undefined;
  if (typeof original !== 'function' || descriptor?.configurable !== true) return () => undefined;
  const fetch = function fetch(this: unknown, input: unknown, init = undefined): unknown {
    // eslint-disable-next-line prefer-rest-params -- the number of arguments stays as the program gave it
    const given = arguments;
    watch.load(original);
    watch.check(init);
    return watch.call(init, () => Reflect.apply(original, this, given) as unknown);
  };
  Object.defineProperty(globalThis, 'fetch', { ...descriptor, value: fetch });
  return () => {
    if (globalThis.fetch === (fetch as unknown)) Object.defineProperty(globalThis, 'fetch', descriptor);
  };
}

/**
 * Sets a getter where undici keeps its global dispatcher. undici reads it once while it loads, finds nothing, and
 * defines its own value over it; by then we know that it is there.
 * Why here: WebSocket, EventSource and a `fetch` taken before ours never come by `replaceFetch`.
 * If it went wrong: undici would find a dispatcher that is none.
 */
function watchLoading(watch: DispatcherWatch): () => void {
  const [key] = DISPATCHERS;
  if (Object.getOwnPropertyDescriptor(watch.realm, key) !== undefined) {
    watch.check(undefined);
    return () => undefined;
  }
  const get = (): undefined => {
    const loaded = isCalledByNode(get) ? watch.loading() : undefined;
    queueMicrotask(() => {
      loaded?.();
      watch.check(undefined);
    });
    return undefined;
  };
  const set = (value: unknown): void => {
    Object.defineProperty(watch.realm, key, { value, writable: true, configurable: true, enumerable: false });
  };
  Object.defineProperty(watch.realm, key, { get, set, configurable: true, enumerable: false });
  return () => {
    if (Object.getOwnPropertyDescriptor(watch.realm, key)?.get === get) Reflect.deleteProperty(watch.realm, key);
  };
}

/** The value of a property that is plain data; a getter of the program is not run. */
function ownValue(value: unknown, key: PropertyKey): unknown {
  return isObject(value) ? Object.getOwnPropertyDescriptor(value, key)?.value : undefined;
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' || typeof value === 'function') && value !== null;
}
