import type * as http from 'node:http';
import { patch } from '../patches';
import type { InboundSession, InboundSessions, ReceivedRequest } from '../inbound-sessions';
import type { HeaderList } from '../schema/records';
import type { TapFailure } from './guarded-exchange';
import { ReceivedBody } from './received-body';

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
    const { header, body } = sessions.settings;
    const named = header === undefined ? undefined : request.headers[header.toLowerCase()];
    session.name(Array.isArray(named) ? named[0] : named);
    const received = session.isNamed || body !== undefined ? new ReceivedBody() : undefined;
    if (received !== undefined) watchBody(request, { session, received, onFailure });
    keepInside(request, session);
    keepInside(response, session, (event) => {
      if (event !== 'close') return;
      const seen = describe(request, received);
      session.end(seen, { status: response.statusCode, isComplete: response.writableFinished });
    });
    return session;
  } catch (error) {
    onFailure('tap inbound http', error);
    return undefined;
  }
}

function describe(request: http.IncomingMessage, received: ReceivedBody | undefined): ReceivedRequest {
  const headers: HeaderList = request.rawHeaders.flatMap((name, i, all): [string, string][] =>
    i % 2 === 0 ? [[name, all[i + 1] ?? '']] : [],
  );
  const { method = '', url = '' } = request;
  return { method, url, headers, body: received?.body, bodyBytes: received?.bytes ?? 0 };
}

/**
 * Listeners of a request run in the context of its socket, not in that of the handler that added them; so what is
 * emitted is emitted inside. An own property, not enumerable: the program's object stays what it is. Frameworks change
 * the prototype (express) or derive objects from it, so the method is looked up anew, and on the object itself.
 */
function keepInside(target: object, session: InboundSession, heard?: (event: string | symbol) => void): void {
  const emit: Emit = function (this: object, event, ...args) {
    heard?.(event);
    const prototype = Object.getPrototypeOf(target) as Emitting;
    return session.run(() => prototype.emit.call(this, event, ...args));
  };
  hide(target, 'emit', emit);
}

interface Watch {
  readonly session: InboundSession;
  readonly received: ReceivedBody;
  readonly onFailure: TapFailure;
}

/** Sees the body as the parser hands it to the stream, before the program reads it; nothing is read for it. */
function watchBody(request: http.IncomingMessage, { session, received, onFailure }: Watch): void {
  const plain = request.headers['content-encoding'] === undefined;
  const isJson = plain && /\bjson\b/i.test(request.headers['content-type'] ?? '');
  const push = function (this: http.IncomingMessage, chunk: unknown, encoding?: BufferEncoding): boolean {
    try {
      if (Buffer.isBuffer(chunk)) received.add(chunk);
      else if (chunk === null && isJson && !session.isNamed && received.body !== undefined)
        session.nameByBody(received.body);
    } catch (error) {
      onFailure('tap inbound http', error);
    }
    const { push: original } = Object.getPrototypeOf(request) as http.IncomingMessage;
    return session.run(() => original.call(this, chunk, encoding));
  };
  hide(request, 'push', push);
}

function hide(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, configurable: true, writable: true, enumerable: false });
}
