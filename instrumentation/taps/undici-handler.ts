import type { GuardedExchange } from './guarded-exchange';
import { knownBody, responseHeaders } from './undici-request';

export type Handler = Record<PropertyKey, unknown>;
type Args = unknown[];

/** On handlers of ours, so that an Agent, its Pool and its Client do not each record the same attempt. */
export const OBSERVED = Symbol.for('reenact.undici.observed');

/** An exchange and the handler that reports it: a handler further in may take over before anything has happened. */
export interface DispatchedExchange {
  readonly exchange: GuardedExchange;
  owner: object | undefined;
  hasStarted: boolean;
  /** The whole body was told at the start; what passes by is then not told again. */
  readonly bodyKnown: boolean;
}

type Observe = (dispatched: DispatchedExchange, args: Args) => void;

/** What each callback of a handler tells; the older interface of undici first, the newer one below it. */
const OBSERVE: Readonly<Record<string, Observe | undefined>> = {
  onConnect: (dispatched, args) => {
    dispatched.hasStarted = true;
    const abort = args[0];
    if (typeof abort !== 'function') return;
    // Who calls this is the program; undici itself has its own way to break off.
    args[0] = (...given: Args): unknown => {
      dispatched.exchange.giveUp(given[0]);
      return Reflect.apply(abort, undefined, given) as unknown;
    };
  },
  onBodySent: ({ exchange, bodyKnown }, [chunk]) => {
    if (bodyKnown) return;
    const bytes = exchange.run(() => knownBody(chunk));
    if (bytes !== undefined) exchange.requestBody(bytes);
  },
  onHeaders: ({ exchange }, [status, raw, , statusText]) => {
    exchange.responseHead(Number(status), String(statusText ?? ''), responseHeaders(raw));
  },
  onData: ({ exchange }, [chunk]) => exchange.chunk(chunk as Uint8Array),
  onComplete: ({ exchange }, [raw]) => {
    exchange.trailers(responseHeaders(raw));
    exchange.finish();
  },
  onError: ({ exchange }, [error]) => exchange.fail(error),
  onUpgrade: ({ exchange }, [status, raw]) => {
    exchange.responseHead(Number(status), 'Switching Protocols', responseHeaders(raw));
    exchange.finish();
  },
  onRequestStart: (dispatched) => {
    dispatched.hasStarted = true;
  },
  onResponseStart: ({ exchange }, [controller, status, headers, statusText]) => {
    exchange.responseHead(
      Number(status),
      String(statusText ?? ''),
      responseHeaders(rawOf(controller, 'rawHeaders'), headers),
    );
  },
  onResponseData: ({ exchange }, [, chunk]) => exchange.chunk(chunk as Uint8Array),
  onResponseEnd: ({ exchange }, [controller, trailers]) => {
    exchange.trailers(responseHeaders(rawOf(controller, 'rawTrailers'), trailers));
    exchange.finish();
  },
  onResponseError: ({ exchange }, [controller, error]) => {
    const { aborted, reason } = (controller ?? {}) as { aborted?: unknown; reason?: unknown };
    if (aborted === true) exchange.giveUp(reason);
    exchange.fail(error);
  },
  onRequestUpgrade: ({ exchange }, [controller, status, headers]) => {
    exchange.responseHead(
      Number(status),
      'Switching Protocols',
      responseHeaders(rawOf(controller, 'rawHeaders'), headers),
    );
    exchange.finish();
  },
  onRequestSent: undefined,
  onResponseStarted: undefined,
};

function rawOf(controller: unknown, key: 'rawHeaders' | 'rawTrailers'): unknown {
  return (controller as Record<string, unknown> | null | undefined)?.[key];
}

/** The callbacks of undici's two interfaces; a handler has those of one. */
const OLDER = ['onConnect', 'onBodySent', 'onHeaders', 'onData', 'onComplete', 'onError', 'onUpgrade'] as const;
const NEWER = [
  'onRequestStart',
  'onBodySent',
  'onResponseStart',
  'onResponseData',
  'onResponseEnd',
  'onResponseError',
  'onRequestUpgrade',
] as const;
const UNTOLD = ['onRequestSent', 'onResponseStarted'] as const;

/**
 * A handler that tells the exchange what happens and then calls the program's handler on itself (it may have private
 * fields); results, which carry back-pressure, are returned as they are. Events are told first, so that whatever the
 * program does in answer to one comes after it in the order of the recording.
 *
 * A class, for undici's own code runs fast only on handlers of few shapes.
 */
class ObservedHandler {
  readonly handler: Handler;
  readonly dispatched: DispatchedExchange;

  constructor(handler: Handler, dispatched: DispatchedExchange) {
    this.handler = handler;
    this.dispatched = dispatched;
  }

  /** What the program's handler has not, this one must not have either: undici asks. */
  leaveOut(names: readonly string[]): void {
    for (const name of names) {
      const isNeeded = name === 'onBodySent' && !this.dispatched.bodyKnown;
      if (typeof this.handler[name] !== 'function' && !isNeeded)
        Object.defineProperty(this, name, { value: undefined, configurable: true, writable: true });
    }
  }
}
class OlderHandler extends ObservedHandler {}
class NewerHandler extends ObservedHandler {}

for (const [target, names] of [
  [OlderHandler, [...OLDER, ...UNTOLD]],
  [NewerHandler, [...NEWER, ...UNTOLD]],
] as const) {
  Object.defineProperty(target.prototype, OBSERVED, { value: true });
  for (const name of names)
    Object.defineProperty(target.prototype, name, { value: callbackOf(name), configurable: true, writable: true });
}

function callbackOf(name: string): (this: ObservedHandler, ...args: Args) => unknown {
  const tell = OBSERVE[name];
  return function (...args) {
    const { dispatched, handler } = this;
    if (tell !== undefined && dispatched.owner === this) dispatched.exchange.run(() => tell(dispatched, args));
    const callback = handler[name];
    return typeof callback === 'function' ? (Reflect.apply(callback, handler, args) as unknown) : undefined;
  };
}

/** The handler to hand on in place of the program's. */
export function observeHandler(handler: Handler, dispatched: DispatchedExchange): Handler {
  const isNewer = typeof handler['onRequestStart'] === 'function';
  const observed = isNewer ? new NewerHandler(handler, dispatched) : new OlderHandler(handler, dispatched);
  observed.leaveOut(isNewer ? NEWER : OLDER);
  observed.leaveOut(UNTOLD);
  dispatched.owner = observed;
  return observed as unknown as Handler;
}
