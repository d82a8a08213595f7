import type { ClientRequest, IncomingMessage } from 'node:http';
import type { GuardedExchange } from './guarded-exchange';
import { bodyBytes, pairs } from './node-http-request';

/**
 * Shadows `push` and `destroy` on one response: the parser pushes the bytes of the body there, in the pieces in which
 * they arrived and whether or not the program reads, so that nothing has to listen and the stream is not set flowing.
 * If it went wrong: that response would not be readable.
 */
export function observeResponse(exchange: GuardedExchange, request: ClientRequest, response: IncomingMessage): void {
  exchange.responseHead(response.statusCode ?? 0, response.statusMessage ?? '', pairs(response.rawHeaders));
  shadow(response, 'push', (original, args) => {
    exchange.run(() => tellPush(exchange, response, args));
    return Reflect.apply(original, response, args) as unknown;
  });
  shadow(response, 'destroy', (original, args) => {
    // Node destroys the response too, when the connection was lost; then the socket is gone already.
    if (!exchange.hasEnded && !response.destroyed && request.socket?.destroyed === false) exchange.giveUp(args[0]);
    return Reflect.apply(original, response, args) as unknown;
  });
}

function tellPush(exchange: GuardedExchange, response: IncomingMessage, [chunk, encoding]: readonly unknown[]): void {
  if (chunk !== null) {
    const bytes = bodyBytes(chunk, encoding);
    if (bytes !== undefined) exchange.chunk(bytes);
  } else if (response.complete) {
    exchange.trailers(pairs(response.rawTrailers));
    exchange.finish();
  }
}

type Call = (original: (...args: unknown[]) => unknown, args: unknown[]) => unknown;

/** Not enumerable: wrappers of responses copy what they can enumerate. */
function shadow(response: IncomingMessage, name: 'push' | 'destroy', call: Call): void {
  const original = response[name] as (...args: unknown[]) => unknown;
  const value = (...args: unknown[]): unknown => call(original, args);
  Object.defineProperty(response, name, { value, configurable: true, writable: true, enumerable: false });
}
