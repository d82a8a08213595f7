import type * as http from 'node:http';
import { patch } from '../patches';
import type { InboundSessions, InboundSession } from '../inbound-sessions';
import type { TapFailure } from './guarded-exchange';

/** Marks the in-process server of a replay, whose requests are those that the program makes. */
const VIRTUAL_SERVER = Symbol.for('reenact.virtual-server');

/** Events by which a server hands a request to the program. */
const REQUEST_EVENTS: ReadonlySet<string | symbol> = new Set(['request', 'checkContinue', 'checkExpectation']);

type Emit = (this: object, event: string | symbol, ...args: unknown[]) => boolean;
interface Emitting {
  emit: Emit;
}

/**
 * Runs each inbound HTTP request in a scope of its own, whose session is named by a header or a place in the body.
 *
 * What: `emit` of the servers of node:http and node:https, of which only requests are looked at. Why here: every
 * framework listens to it, in whatever way it was made. What breaks when it goes wrong: a server would not answer.
 * Installed only when the configuration names a header or a place in the body.
 */
export function installInboundHttp(sessions: InboundSessions, onFailure: TapFailure): void {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- an import would load it at every start-up
  const { Server } = require('node:http') as typeof http;
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- as above
  const { Server: SecureServer } = require('node:https') as { Server: typeof Server };
  for (const { prototype } of [Server, SecureServer]) {
    patch(
      prototype as unknown as Emitting,
      'emit',
      (original) =>
        function emit(this: object, event, ...args) {
          if (!REQUEST_EVENTS.has(event) || VIRTUAL_SERVER in this) return original.call(this, event, ...args);
          const session = begin(args, sessions, onFailure);
          const run = (): boolean => original.call(this, event, ...args);
          return session === undefined ? run() : session.run(run);
        },
    );
  }
}

function begin(args: unknown[], sessions: InboundSessions, onFailure: TapFailure): InboundSession | undefined {
  try {
    const [request, response] = args as [http.IncomingMessage, http.ServerResponse];
    const session = sessions.open(request);
    if (session === undefined) return undefined;
    const { header } = sessions.settings;
    const named = header === undefined ? undefined : request.headers[header.toLowerCase()];
    session.name(Array.isArray(named) ? named[0] : named);
    const guarded = (step: () => void): void => {
      try {
        step();
      } catch (error) {
        onFailure('tap inbound http', error);
      }
    };
    watchBody(request, session, guarded);
    watchAnswer(response, session, guarded);
    keepInside(request, session);
    keepInside(response, session, (event) => {
      if (event === 'close') session.end(response.statusCode, response.writableFinished);
    });
    return session;
  } catch (error) {
    onFailure('tap inbound http', error);
    return undefined;
  }
}

/**
 * Listeners of a request run in the context of its socket, not in that of the handler that added them; so what is
 * emitted is emitted inside. An own property, not enumerable: the program's object stays what it is. Frameworks give it
 * another prototype or derive objects from it, so the method is looked up anew, and above the object itself.
 */
function keepInside(target: object, session: InboundSession, heard?: (event: string | symbol) => void): void {
  const emit: Emit = function (this: object, event, ...args) {
    heard?.(event);
    const prototype = Object.getPrototypeOf(target) as Emitting;
    return session.run(() => prototype.emit.call(this, event, ...args));
  };
  Object.defineProperty(target, 'emit', { value: emit, configurable: true, writable: true, enumerable: false });
}

type Guarded = (step: () => void) => void;

/** Sees the body as the parser hands it to the stream, before the program reads it; nothing is read for it. */
function watchBody(request: http.IncomingMessage, session: InboundSession, guarded: Guarded): void {
  const push = function (this: http.IncomingMessage, chunk: unknown, encoding?: BufferEncoding): boolean {
    guarded(() => {
      if (chunk === null) session.nameByBody();
      else if (Buffer.isBuffer(chunk)) session.request.read(chunk);
    });
    const { push: original } = Object.getPrototypeOf(request) as http.IncomingMessage;
    return session.run(() => original.call(this, chunk, encoding));
  };
  Object.defineProperty(request, 'push', { value: push, configurable: true, writable: true, enumerable: false });
}

type Write = (this: object, chunk: unknown, ...rest: unknown[]) => unknown;

/** Hears the body of the answer; `end` of node:http writes its last piece by itself, not through `write`. */
function watchAnswer(response: http.ServerResponse, session: InboundSession, guarded: Guarded): void {
  for (const name of ['write', 'end'] as const) {
    const method: Write = function (this: object, chunk, ...rest) {
      guarded(() => session.request.wrote(chunk, rest[0]));
      const prototype = Object.getPrototypeOf(response) as Record<string, Write>;
      return prototype[name]?.call(this, chunk, ...rest);
    };
    Object.defineProperty(response, name, { value: method, configurable: true, writable: true, enumerable: false });
  }
}
