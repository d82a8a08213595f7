import { isUtf8 } from 'node:buffer';
import type { Scope } from './context';
import type { Recorder } from './recorder';
import type { HeaderList, WireRequest } from './schema/records';

/** Where an inbound request names its conversation. */
export interface InboundSettings {
  readonly header?: string;
  /** JSON Pointer into the request's JSON body. */
  readonly body?: string;
}

/** A request as it came; `body` is absent when it was larger than what is kept. */
export interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: HeaderList;
  readonly body: Buffer | undefined;
  readonly bodyBytes: number;
}

type RedactRequest = (request: WireRequest) => WireRequest;

/** As every id that stands on a span. */
const MAX_ID = 256;

/** A body may hold any string; paths of scopes are made of well-formed ones. */
const LONE_SURROGATE = /\p{Surrogate}/gu;

/** The sessions of a server: one for each inbound request that names its conversation. */
export class InboundSessions {
  readonly settings: InboundSettings;
  readonly redact: RedactRequest;
  readonly recorder: Recorder;
  private readonly seen = new WeakSet<object>();

  constructor(recorder: Recorder, settings: InboundSettings, redact: RedactRequest) {
    this.recorder = recorder;
    this.settings = settings;
    this.redact = redact;
  }

  /** `undefined` for a request that has a session: a server may hand it on to another by `emit`. */
  open(request: object): InboundSession | undefined {
    if (this.seen.has(request)) return undefined;
    this.seen.add(request);
    return new InboundSession(this);
  }
}

/**
 * One inbound request. Until its conversation is known its calls are the process's own, as if it had no session; from
 * then on, in all code that it has set off, they are the conversation's.
 */
export class InboundSession {
  isNamed = false;
  private readonly sessions: InboundSessions;
  private readonly scope: Scope;

  constructor(sessions: InboundSessions) {
    this.sessions = sessions;
    this.scope = { ...sessions.recorder.scopes.current() };
  }

  run<T>(fn: () => T): T {
    return this.sessions.recorder.scopes.run(this.scope, fn);
  }

  name(id: string | undefined): void {
    const trimmed = id?.trim().slice(0, MAX_ID).replace(LONE_SURROGATE, '\ufffd');
    if (this.isNamed || trimmed === undefined || trimmed === '') return;
    this.isNamed = true;
    // The object itself is what the asynchronous context holds.
    Object.assign(
      this.scope,
      { random: undefined, agentId: undefined },
      this.sessions.recorder.openSession({ id: trimmed }),
    );
  }

  nameByBody(body: Buffer): void {
    let value: unknown;
    try {
      value = JSON.parse(body.toString('utf8'));
    } catch {
      // The program's own parser says what is wrong with it; the request stays without a session.
      return;
    }
    for (const step of (this.sessions.settings.body ?? '').split('/').slice(1)) {
      const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return;
      value = (value as Record<string, unknown>)[key];
    }
    if (typeof value === 'string' || typeof value === 'number') this.name(String(value));
  }

  /** The connection has let go of the answer. */
  end(request: ReceivedRequest, { status, isComplete }: { status: number; isComplete: boolean }): void {
    if (!this.isNamed) return;
    const { session } = this.scope;
    const { recorder, redact } = this.sessions;
    recorder.options.diagnostics.guard('end of a session', () => {
      // A request that called nothing is no session: nothing of it is written.
      if (!session.started) return;
      if (status >= 500) session.failure ??= `HTTP ${status}`;
      const { method, url, headers, body } = redact({ ...request, body: request.body ?? Buffer.alloc(0) });
      session.inbound = {
        method,
        url,
        headers,
        bodyBytes: request.bodyBytes,
        ...(body.length > 0 && textOrBase64(body)),
        status,
        ...(!isComplete && { aborted: true }),
      };
      recorder.endSession(session);
    });
  }
}

function textOrBase64(body: Buffer): { body: string; base64?: true } {
  return isUtf8(body) ? { body: body.toString('utf8') } : { body: body.toString('base64'), base64: true };
}
