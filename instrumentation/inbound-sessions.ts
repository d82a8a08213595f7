import type * as http from 'node:http';
import type { Scope } from './context';
import { InboundRequest } from './inbound-requests';
import { RESENT } from './schema/inbound';
import type { InboundAnswer } from './schema/inbound';
import type { Recorder } from './recorder';

/** Where an inbound request names its conversation. */
export interface InboundSettings {
  readonly header?: string;
  /** JSON Pointer into the request's JSON body. */
  readonly body?: string;
}

/** As every id that stands on a span. */
const MAX_ID = 256;

/** A body may hold any string; paths of scopes are made of well-formed ones. */
const LONE_SURROGATE = /\p{Surrogate}/gu;

/** Told how the program answered a request that a replay has sent again. */
export type HearAnswer = (spanId: string, answer: InboundAnswer) => void;

/** The sessions of a server: one for each inbound request that names its conversation. */
export class InboundSessions {
  readonly settings: InboundSettings;
  private readonly recorder: Recorder;
  private readonly hear: HearAnswer | undefined;
  private readonly seen = new WeakSet<http.IncomingMessage>();

  constructor(recorder: Recorder, settings: InboundSettings, hear?: HearAnswer) {
    this.recorder = recorder;
    this.settings = settings;
    this.hear = hear;
  }

  /** Undefined for a request that the configuration leaves out, and for one that the program hands on by `emit`. */
  open(request: http.IncomingMessage): InboundSession | undefined {
    if (this.seen.has(request)) return undefined;
    this.seen.add(request);
    const url = `http://${request.headers.host ?? 'localhost'}${request.url ?? '/'}`;
    const { filter } = this.recorder.options;
    const info = { transport: 'node-http' as const, method: request.method ?? 'GET', url, headers: [] };
    if (!filter.records(info)) return undefined;
    const session = new InboundSession(this.recorder, this.settings, request);
    const resent: unknown = (request.socket as { [RESENT]?: unknown })[RESENT];
    if (typeof resent === 'string') session.onAnswer = (answer) => this.hear?.(resent, answer);
    return session;
  }
}

/**
 * One inbound request. Until its conversation is known its calls are the process's own, as if it had no session; from
 * then on, in all code that it has set off, they are the conversation's.
 */
export class InboundSession {
  isNamed = false;
  onAnswer: ((answer: InboundAnswer) => void) | undefined;
  readonly request: InboundRequest;
  private readonly recorder: Recorder;
  private readonly settings: InboundSettings;
  private readonly scope: Scope;

  constructor(recorder: Recorder, settings: InboundSettings, request: http.IncomingMessage) {
    this.recorder = recorder;
    this.settings = settings;
    this.scope = { ...recorder.scopes.current() };
    this.request = new InboundRequest(recorder, request, this.scope);
  }

  run<T>(fn: () => T): T {
    return this.recorder.scopes.run(this.scope, fn);
  }

  name(id: string | undefined): void {
    const trimmed = id?.trim().slice(0, MAX_ID).replace(LONE_SURROGATE, '\ufffd');
    if (this.isNamed || trimmed === undefined || trimmed === '') return;
    this.isNamed = true;
    // The object itself is what the asynchronous context holds.
    Object.assign(this.scope, { random: undefined, agentId: undefined }, this.recorder.openSession({ id: trimmed }));
  }

  /** The body has come to its end. */
  nameByBody(): void {
    if (this.settings.body === undefined || this.isNamed) return;
    const body = this.request.body();
    let value: unknown;
    try {
      value = JSON.parse(body?.toString('utf8') ?? '');
    } catch {
      // The program's own parser says what is wrong with it; the request stays without a session.
      return;
    }
    for (const step of (this.settings.body ?? '').split('/').slice(1)) {
      const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return;
      value = (value as Record<string, unknown>)[key];
    }
    if (typeof value === 'string' || typeof value === 'number') this.name(String(value));
  }

  /** The connection has let go of the answer. @param complete all of it was sent */
  end(status: number, complete: boolean): void {
    this.recorder.options.diagnostics.guard('end of an inbound request', () => {
      const outcome = !complete ? 'aborted' : status >= 400 ? 'error' : 'ok';
      const answer = this.request.end(status, outcome);
      if (answer !== undefined) this.onAnswer?.(answer);
      if (!this.isNamed) return;
      const { session } = this.scope;
      if (status >= 500) session.failure ??= `HTTP ${status}`;
      this.recorder.endSession(session);
    });
  }
}
