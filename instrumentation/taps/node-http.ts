import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type * as http from 'node:http';
import type { ExchangeObserver } from '../exchange-observer';
import type { TapContext, TapFailure, TapOptions } from './guarded-exchange';
import { GuardedExchange } from './guarded-exchange';
import { absoluteUrl, addHeader, bodyBytes, pairs, requestHeaders } from './node-http-request';
import { observeResponse } from './node-http-response';

type Method = (this: http.ClientRequest, ...args: unknown[]) => unknown;
type Methods = Record<'write' | 'end' | 'flushHeaders' | 'destroy' | 'emit', Method>;

const TAPPED = Symbol.for('reenact.node-http.tapped');
const CREATED = 'http.client.request.created';

/**
 * Records the exchanges of `node:http` and `node:https`, however the program makes its requests.
 * Returns the function that takes everything out again.
 */
export function installNodeHttpTap(
  observer: ExchangeObserver,
  onFailure: TapFailure = ignore,
  options: TapOptions = {},
): () => void {
  const context: TapContext = { observer, onFailure, ...options };
  if (!announcesRequests()) return tapClientRequest(loadHttp().ClientRequest.prototype, context);
  // Loading node:http costs 5 ms. Where Node announces each request before anything of it is sent, the first one is
  // early enough.
  let undo: () => void = ignore;
  const onCreated = (): void => {
    try {
      unsubscribe(CREATED, onCreated);
      undo = tapClientRequest(loadHttp().ClientRequest.prototype, context);
    } catch (error) {
      // Thrown from here it would be an uncaught exception of the program.
      onFailure('tap node-http', error);
    }
  };
  subscribe(CREATED, onCreated);
  return () => {
    unsubscribe(CREATED, onCreated);
    undo();
  };
}

function ignore(): void {
  // Nobody asked to be told, or there is nothing to undo.
}

function loadHttp(): typeof http {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- an import would load it at start-up
  return require('node:http') as typeof http;
}

/** The channel came with Node 22.12 and 23.2. */
function announcesRequests(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  return major > 23 || (major === 23 && minor >= 2) || (major === 22 && minor >= 12);
}

/**
 * Gives `ClientRequest.prototype` own methods that tell what passes and then do what they did.
 * Why here: every way to make a request ends in this class, references taken earlier and ESM imports included, and no
 * listener is added that would change what an unhandled error or an unread response does.
 * If it went wrong: every request over node:http would.
 */
function tapClientRequest(prototype: object, context: TapContext): () => void {
  const alreadyTapped = Object.prototype.hasOwnProperty.call(prototype, TAPPED);
  if (alreadyTapped && context.stacked !== true) return ignore;
  const original = prototype as Methods;
  const replaced = observedMethods(context, {
    write: original.write,
    end: original.end,
    flushHeaders: original.flushHeaders,
    destroy: original.destroy,
    emit: original.emit,
  });
  const undo: (() => void)[] = [];
  for (const [name, value] of Object.entries(replaced)) {
    const before = Object.getOwnPropertyDescriptor(prototype, name);
    const signature = (original as Record<string, Method>)[name];
    Object.defineProperty(value, 'name', { value: signature?.name ?? name, configurable: true });
    Object.defineProperty(value, 'length', { value: signature?.length ?? 0, configurable: true });
    Object.defineProperty(prototype, name, {
      value,
      configurable: true,
      writable: true,
      enumerable: before?.enumerable ?? true,
    });
    undo.push(() => {
      if ((prototype as Record<string, unknown>)[name] !== value) return;
      if (before === undefined) Reflect.deleteProperty(prototype, name);
      else Object.defineProperty(prototype, name, before);
    });
  }
  Object.defineProperty(prototype, TAPPED, { value: true, configurable: true });
  return () => {
    for (const remove of undo) remove();
    if (!alreadyTapped) Reflect.deleteProperty(prototype, TAPPED);
  };
}

function observedMethods(context: TapContext, original: Methods): Methods {
  const exchanges = new Exchanges(context);
  return {
    write(...args) {
      const exchange = exchanges.begin(this);
      exchange?.run(() => tellBody(exchange, this, args));
      return Reflect.apply(original.write, this, args);
    },
    end(...args) {
      const exchange = exchanges.begin(this);
      exchange?.run(() => tellBody(exchange, this, args));
      return Reflect.apply(original.end, this, args);
    },
    flushHeaders(...args) {
      exchanges.begin(this);
      return Reflect.apply(original.flushHeaders, this, args);
    },
    destroy(...args) {
      if (!this.destroyed) exchanges.giveUp(this, args[0]);
      return Reflect.apply(original.destroy, this, args);
    },
    emit(...args) {
      const exchange = exchanges.get(this) ?? (args[0] === 'error' ? exchanges.begin(this) : undefined);
      exchange?.run(() => tellEvent(exchange, this, args));
      return Reflect.apply(original.emit, this, args);
    },
  };
}

/** The exchange of each request, from the moment at which the program begins to send it. */
class Exchanges {
  private readonly context: TapContext;
  /** `undefined` as a value: not wanted by the observer. */
  private readonly byRequest = new WeakMap<http.ClientRequest, GuardedExchange | undefined>();

  constructor(context: TapContext) {
    this.context = context;
  }

  get(request: http.ClientRequest): GuardedExchange | undefined {
    return this.byRequest.get(request);
  }

  giveUp(request: http.ClientRequest, reason: unknown): void {
    // Dropped before anything was sent: no exchange, and the error that follows begins none.
    if (!this.byRequest.has(request)) this.byRequest.set(request, undefined);
    this.byRequest.get(request)?.giveUp(reason);
  }

  begin(request: http.ClientRequest): GuardedExchange | undefined {
    if (this.byRequest.has(request)) return this.byRequest.get(request);
    const exchange = this.start(request);
    this.byRequest.set(request, exchange);
    const correlation = exchange?.correlation;
    if (correlation !== undefined) exchange?.run(() => addHeader(request, correlation));
    return exchange;
  }

  private start(request: http.ClientRequest): GuardedExchange | undefined {
    try {
      // A tunnel through a proxy is part of the connection, not an exchange of the program.
      if (request.method === 'CONNECT') return undefined;
      return GuardedExchange.start(this.context, {
        transport: 'node-http',
        method: request.method,
        url: absoluteUrl(request),
        headers: requestHeaders(request),
      });
    } catch (error) {
      this.context.onFailure('tap node-http', error);
      return undefined;
    }
  }
}

function tellBody(exchange: GuardedExchange, request: http.ClientRequest, [chunk, encoding]: readonly unknown[]): void {
  // Node refuses these writes; what was not sent is not recorded.
  if (request.writableEnded || request.destroyed) return;
  const bytes = bodyBytes(chunk, encoding);
  if (bytes !== undefined) exchange.requestBody(bytes);
}

function tellEvent(exchange: GuardedExchange, request: http.ClientRequest, [event, value]: readonly unknown[]): void {
  if (event === 'response') {
    observeResponse(exchange, request, value as http.IncomingMessage);
  } else if (event === 'upgrade') {
    const response = value as http.IncomingMessage;
    exchange.responseHead(response.statusCode ?? 101, response.statusMessage ?? '', pairs(response.rawHeaders));
    exchange.finish();
  } else if (event === 'error') {
    exchange.fail(value);
  } else if (event === 'close') {
    // Without an error before it: the program let go, or the peer did in the middle of the body.
    exchange.fail(Object.assign(new Error('aborted'), { code: 'ECONNRESET' }));
  }
}
