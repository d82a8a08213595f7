import http from 'node:http';
import { patch } from '../../instrumentation/patches';

type Constructor = new (...args: unknown[]) => object;

/** Options of undici's dispatchers that would lead to other connections than virtual ones of HTTP/1.1. */
const NOT_KEPT = new Set(['connect', 'factory', 'interceptors', 'allowH2', 'dispatcher', 'proxy']);

/**
 * Stand-ins for the dispatchers of a program: a kept connection of before the replay is a real one, and a virtual one
 * must not be found by anybody else.
 */
export class OwnDispatchers {
  private readonly made = new Map<object, Map<string, object>>();
  private readonly applies: () => boolean;

  constructor(applies: () => boolean) {
    this.applies = applies;
  }

  /** `undefined` for code that keeps its connections, and for dispatchers that hand on to others. */
  readonly redirect = (dispatcher: object, origin: string): object | undefined => {
    if (!this.applies()) return undefined;
    const known = this.made.get(dispatcher) ?? new Map<string, object>();
    this.made.set(dispatcher, known);
    // An Agent serves every origin by one, a Pool or Client has only one origin.
    const other = known.get(origin) ?? standIn(dispatcher, origin);
    if (other !== undefined) known.set(origin, other);
    return other;
  };

  close(): void {
    for (const others of this.made.values()) {
      for (const other of others.values()) {
        const { destroy } = other as { destroy?: (this: object) => unknown };
        // What still waits there is the replay's own, and it has ended.
        void Promise.resolve(destroy?.call(other)).catch(() => undefined);
      }
    }
    this.made.clear();
  }
}

function standIn(dispatcher: object, origin: string): object | undefined {
  const options = keptOptions(dispatcher);
  for (const constructor of constructorsOf(dispatcher)) {
    if (constructor.name === 'Agent') return new constructor(options);
    if (['Pool', 'Client', 'BalancedPool'].includes(constructor.name)) return new constructor(origin, options);
  }
  return undefined;
}

/** The classes of an object, undici's own behind those that a program derived from them. */
function constructorsOf(dispatcher: object): Constructor[] {
  const found: Constructor[] = [];
  for (
    let at = Object.getPrototypeOf(dispatcher) as object | null;
    at !== null;
    at = Object.getPrototypeOf(at) as object | null
  ) {
    const { constructor } = at;
    if (Object.hasOwn(at, 'constructor') && typeof constructor === 'function')
      found.unshift(constructor as Constructor);
  }
  return found;
}

/** Time limits and the like; undici keeps what it was given under a symbol. */
function keptOptions(dispatcher: object): Record<string, unknown> {
  const key = Object.getOwnPropertySymbols(dispatcher).find((symbol) => symbol.description === 'options');
  const options: unknown = key === undefined ? undefined : Reflect.get(dispatcher, key);
  if (typeof options !== 'object' || options === null) return {};
  return Object.fromEntries(Object.entries(options).filter(([name]) => !NOT_KEPT.has(name)));
}

/** In the options of a request that has connections of its own. */
const OWN = Symbol('reenact.own-connections');

interface Marked {
  readonly [OWN]?: string;
}

/**
 * Replaced: `addRequest` and `getName` of `http.Agent`, so that sockets kept for a replay have names that no other
 * request asks for, and the other way round. Why here: every agent finds its kept sockets by this name, HTTPS and
 * derived ones included. If it went wrong: a replay would write to a real connection.
 */
export function separateAgentSockets(name: string, applies: () => boolean): void {
  const prototype = http.Agent.prototype as unknown as {
    addRequest(this: http.Agent, ...args: unknown[]): unknown;
    getName(this: http.Agent, options?: Marked): string;
  };
  patch(
    prototype,
    'addRequest',
    (original) =>
      function addRequest(this: http.Agent, ...[request, options, ...rest]: unknown[]) {
        const own = typeof options === 'object' && options !== null && applies();
        return original.call(this, request, own ? { ...options, [OWN]: name } : options, ...rest);
      },
  );
  patch(
    prototype,
    'getName',
    (original) =>
      function getName(this: http.Agent, options) {
        const own = options?.[OWN];
        return own === undefined ? original.call(this, options) : `${original.call(this, options)}:${own}`;
      },
  );
}
