import type { ExchangeObserver } from '../exchange-observer';
import type { TapContext, TapFailure, TapOptions } from './guarded-exchange';
import { GuardedExchange } from './guarded-exchange';
import { installFetchTap } from './fetch';
import type { DispatchedExchange, Handler } from './undici-handler';
import { OBSERVED, observeHandler } from './undici-handler';
import type { DispatchOptions } from './undici-request';
import { knownBody, requestHeaders, requestUrl, withHeader } from './undici-request';
import type { PendingBody } from './pending-body';

type Dispatch = (this: object, options: DispatchOptions, handler: Handler) => unknown;

/** Carried by the options of a dispatched request, which every layer of undici copies on. */
const EXCHANGE = Symbol.for('reenact.undici.exchange');
/** On a replaced `dispatch`, so that one owner is patched once, by whichever copy of this package comes first. */
const TAPPED = Symbol.for('reenact.undici.tapped');
/** In the options of a request that another dispatcher than the program's makes. */
const REDIRECTED = Symbol.for('reenact.undici.redirected');

const NO_BODY: PendingBody = { take: () => undefined };

/**
 * Records the exchanges of Node's own undici: `fetch`, WebSocket, EventSource.
 * Returns the function that takes everything out again.
 */
export function installUndiciTap(
  observer: ExchangeObserver,
  onFailure: TapFailure = ignore,
  options: TapOptions = {},
): () => void {
  const context: TapContext = { observer, onFailure, ...options };
  const undo: (() => void)[] = [];
  const removeFetch = installFetchTap(context, (dispatcher, pending) => {
    const owner = dispatchOwner(dispatcher);
    if (owner !== undefined) undo.push(tapOwner(owner, context, pending));
  });
  return () => {
    removeFetch();
    for (const remove of undo.splice(0).reverse()) remove();
  };
}

/** Records the exchanges of a copy of undici that the program has loaded (6, 7 or 8); call it with its exports. */
export function tapUndiciModule(
  exports: unknown,
  observer: ExchangeObserver,
  onFailure: TapFailure = ignore,
): () => void {
  return tapUndiciCopy(exports, { observer, onFailure });
}

/** The same, in all its ways. */
export function tapUndiciCopy(exports: unknown, context: TapContext): () => void {
  const classes = ['Agent', 'Client', 'Pool'].map((name) => (exports as Record<string, unknown> | null)?.[name]);
  const undo = classes.map((value) => {
    const owner = typeof value === 'function' ? dispatchOwner(value.prototype as object) : undefined;
    return owner === undefined ? ignore : tapOwner(owner, context, NO_BODY);
  });
  return () => {
    for (const remove of undo.reverse()) remove();
  };
}

function ignore(): void {
  // Nobody asked to be told, or there is nothing to undo.
}

/**
 * The prototype whose `dispatch` all dispatchers of that copy of undici end in. The last owner of the chain is the
 * abstract Dispatcher; the one before it is what Agent, Pool and Client share.
 */
export function dispatchOwner(dispatcher: object): object | undefined {
  const owners: object[] = [];
  for (let at: object | null = dispatcher; at !== null; at = Object.getPrototypeOf(at) as object | null) {
    if (Object.prototype.hasOwnProperty.call(at, 'dispatch')) owners.push(at);
  }
  return owners.length < 2 ? undefined : owners[owners.length - 2];
}

/**
 * Replaces `dispatch` of undici's base dispatcher.
 * Why here: it sees each attempt and redirect hop with the bytes of the wire, whoever made the dispatcher, and nothing
 * that the program holds is wrapped. If it went wrong: every fetch of the process would fail.
 */
function tapOwner(owner: object, context: TapContext, pending: PendingBody): () => void {
  const descriptor = Object.getOwnPropertyDescriptor(owner, 'dispatch');
  const original = descriptor?.value as (Dispatch & { [TAPPED]?: true }) | undefined;
  if (typeof original !== 'function' || descriptor?.writable === false) return ignore;
  if (original[TAPPED] === true && context.stacked !== true) return ignore;
  const dispatch = function dispatch(this: object, options: DispatchOptions, handler: Handler): unknown {
    const observed =
      observe(context, { dispatcher: this, options, handler, pending }) ?? ({ options, handler } as Observed);
    const target = redirect(context, this, observed.options);
    try {
      return Reflect.apply(original, target.dispatcher, [target.options, observed.handler]) as unknown;
    } catch (error) {
      observed.exchange?.fail(error);
      throw error;
    }
  };
  Object.defineProperty(dispatch, TAPPED, { value: true });
  Object.defineProperty(owner, 'dispatch', { ...descriptor, value: dispatch });
  return () => {
    if ((owner as { dispatch?: unknown }).dispatch === dispatch)
      Object.defineProperty(owner, 'dispatch', descriptor as PropertyDescriptor);
  };
}

/** A request of a dispatcher that stands in for another keeps to it, through its pools and clients. */
function redirect(
  context: TapContext,
  dispatcher: object,
  options: DispatchOptions,
): { dispatcher: object; options: DispatchOptions } {
  if (context.redirect === undefined || !isObject(options) || options[REDIRECTED] === true)
    return { dispatcher, options };
  try {
    const other = context.redirect(dispatcher, new URL(requestUrl(options, dispatcher)).origin);
    if (other !== undefined) return { dispatcher: other, options: { ...options, [REDIRECTED]: true } };
  } catch (error) {
    context.onFailure('redirection of undici', error);
  }
  return { dispatcher, options };
}

interface Dispatching {
  readonly dispatcher: object;
  readonly options: DispatchOptions;
  readonly handler: Handler;
  readonly pending: PendingBody;
}

interface Observed {
  readonly options: DispatchOptions;
  readonly handler: Handler;
  readonly exchange?: GuardedExchange;
}

function observe(context: TapContext, dispatching: Dispatching): Observed | undefined {
  const { options, handler } = dispatching;
  try {
    if (!isObject(options) || !isObject(handler) || handler[OBSERVED] === true) return undefined;
    // A tunnel through a proxy is part of the connection, not an exchange of the program.
    if (options.method === 'CONNECT') return undefined;
    const outer = options[EXCHANGE] as DispatchedExchange | undefined;
    // A layer of undici put its own handler (redirect, retry, decorator) around ours: the innermost one reports.
    if (outer !== undefined && !outer.hasStarted && !outer.exchange.hasEnded)
      return { options, handler: observeHandler(handler, outer), exchange: outer.exchange };
    return startExchange(context, dispatching);
  } catch (error) {
    context.onFailure('tap undici', error);
    return undefined;
  }
}

function startExchange(context: TapContext, { dispatcher, options, handler, pending }: Dispatching): Observed {
  const body = knownBody(options.body) ?? knownBody(pending.take());
  const { list, replaced } = requestHeaders(options.headers);
  const exchange = GuardedExchange.start(context, {
    transport: 'undici',
    method: String(options.method ?? 'GET').toUpperCase(),
    url: requestUrl(options, dispatcher),
    headers: list,
  });
  // Observed or not: headers that could be read only once have been read.
  const sent = replaced === undefined ? options : { ...options, headers: replaced };
  if (exchange === undefined) return { options: sent, handler };
  if (body !== undefined) exchange.requestBody(body);
  const bodyKnown = body !== undefined || options.body === null || options.body === undefined;
  const dispatched: DispatchedExchange = { exchange, owner: undefined, hasStarted: false, bodyKnown };
  return {
    options: exchange.run(() => markOptions(sent, dispatched)) ?? sent,
    handler: observeHandler(handler, dispatched),
    exchange,
  };
}

function markOptions(options: DispatchOptions, dispatched: DispatchedExchange): DispatchOptions {
  const { correlation } = dispatched.exchange;
  const marked = { ...options, [EXCHANGE]: dispatched };
  return correlation === undefined ? marked : { ...marked, headers: withHeader(options.headers, correlation) };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
