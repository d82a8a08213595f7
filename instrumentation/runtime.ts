import { runInThisContext } from 'node:vm';
import { types } from 'node:util';
import type { CallGate } from './call-gate';
import { nextOrdinal } from './context';
import type { SessionContext } from './context';
import { FunctionCalls } from './function-calls';
import type { FunctionSpec, Invocation } from './function-calls';
import type { Recorder } from './recorder';
import { encodeTyped } from './schema/typed-json';
import { textOf } from './schema/text-of';

export interface SessionOptions {
  /** Id of the conversation; made when absent. */
  readonly id?: string;
  readonly agentId?: string;
  readonly agentVersion?: string;
  readonly promptVersion?: string;
  readonly metadata?: Record<string, unknown>;
}

export interface OutcomeDetails {
  readonly score?: number;
  readonly reason?: string;
  readonly [key: string]: unknown;
}

/** What the public functions of 'reenact' do when the preload is active. */
export class Runtime {
  readonly recorder: Recorder;
  private readonly functions: FunctionCalls;
  private readonly gate: CallGate;

  constructor(recorder: Recorder, gate: CallGate) {
    this.recorder = recorder;
    this.gate = gate;
    this.functions = new FunctionCalls(recorder, gate);
  }

  session<T>(options: SessionOptions, fn: () => T): T {
    const { scopes } = this.recorder;
    const id =
      options.id ?? `${this.recorder.options.defaultSessionId}.${nextOrdinal(scopes.current(), 'session') + 1}`;
    const scope = this.recorder.openSession({ ...options, id });
    const end = (): void =>
      void this.recorder.options.diagnostics.guard('end of a session', () => this.recorder.endSession(scope.session));
    let result: T;
    try {
      result = scopes.run(scope, fn);
    } catch (error) {
      scope.session.failure ??= textOf(error);
      end();
      throw error;
    }
    // Promises of any realm, but no lazy thenables, which a call of `then` would start.
    if (types.isPromise(result)) {
      result.then(end, (error: unknown) => {
        scope.session.failure ??= textOf(error);
        end();
      });
    } else end();
    return result;
  }

  call(spec: FunctionSpec, fn: (...args: never[]) => unknown, invocation: Invocation): unknown {
    return this.functions.call(spec, fn as (...args: unknown[]) => unknown, invocation);
  }

  decision(name: string, data: unknown): void {
    const scope = this.recorder.scopes.current();
    this.recorder.options.diagnostics.guard('decision', () => {
      const record = this.recorder.finishFunction(scope, {
        kind: 'decision',
        name: `decision ${name}`,
        decision: name,
        data: encodeTyped(data).json,
        outcome: 'ok',
        seqStart: this.recorder.nextSeq(scope.session),
        startMs: this.recorder.options.clock.now(),
      });
      this.gate.note(record);
    });
  }

  outcome(outcome: 'resolved' | 'escalated' | 'abandoned', details: OutcomeDetails): void {
    const session = this.currentSession();
    session.outcome = outcome;
    session.metadata = { ...session.metadata, ...details };
  }

  markFailure(reason: string): void {
    this.currentSession().failure = reason;
  }

  private currentSession(): SessionContext {
    return this.recorder.scopes.current().session;
  }
}

const KEY = Symbol.for('reenact.runtime.1');

/** The runtime of this process, set by the preload; every copy of the package finds the same one. */
export function activeRuntime(): Runtime | undefined {
  return (globalThis as { [KEY]?: Runtime })[KEY];
}

/** The runtime of the process when this code runs in a sandbox with a global object of its own, as in jest. */
export function runtimeOfRealm(): Runtime | undefined {
  return (runInThisContext('globalThis') as { [KEY]?: Runtime })[KEY];
}

export function setActiveRuntime(runtime: Runtime | undefined): void {
  if (runtime === undefined) Reflect.deleteProperty(globalThis, KEY);
  else Object.defineProperty(globalThis, KEY, { value: runtime, configurable: true, enumerable: false });
}
