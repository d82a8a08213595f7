import type { CallGate, GateCall, GateVerdict } from './call-gate';
import { makeScope, nextOrdinal } from './context';
import type { Scope } from './context';
import type { FunctionRecord, OpenCall, Recorder } from './recorder';
import { isGenerator, watchGenerator } from './tools/generator-result';
import type { GeneratorEnd } from './tools/generator-result';
import { watchThenable } from './tools/thenable-result';
import { encodeTyped } from './schema/typed-json';
import { textOf } from './schema/text-of';
import type { RecordedError, TypedJson } from './schema/records';
import { GAP_ATTRIBUTE } from './schema/attributes';

type AnyFunction = (this: unknown, ...args: unknown[]) => unknown;

export interface FunctionSpec {
  readonly kind: 'tool' | 'observation';
  readonly name: string;
  readonly replay: 'substitute' | 'run';
}

/** How the program called the function. */
export interface Invocation {
  readonly thisArg: unknown;
  readonly args: unknown[];
}

/** `args` of a call: the single argument object, or the array when there is not exactly one non-array object. */
export function callArguments(args: readonly unknown[]): unknown {
  const [only] = args;
  const single = args.length === 1 && typeof only === 'object' && only !== null && !isArray(only);
  return single ? only : [...args];
}

/** A revoked proxy throws even when it is asked this. */
function isArray(value: unknown): boolean {
  try {
    return Array.isArray(value);
  } catch {
    return false;
  }
}

/** Whatever was thrown; a program may throw objects that throw in turn when they are read. */
export function toRecordedError(error: unknown): RecordedError {
  try {
    if (!(error instanceof Error)) return { name: 'Error', message: textOf(error) };
    const { name, message, code } = error as Error & { code?: unknown };
    return { name: textOf(name), message: textOf(message), ...(typeof code === 'string' && { code }) };
  } catch {
    return { name: 'Error', message: 'unreadable value' };
  }
}

/** Runs tools and observations through the gate and records what they answered. */
export class FunctionCalls {
  private readonly recorder: Recorder;
  private readonly gate: CallGate;

  constructor(recorder: Recorder, gate: CallGate) {
    this.recorder = recorder;
    this.gate = gate;
  }

  /** Makes the call as the program would; a synchronous function stays synchronous. */
  call(spec: FunctionSpec, fn: AnyFunction, { thisArg, args }: Invocation): unknown {
    const { diagnostics } = this.recorder.options;
    const running = diagnostics.guard('start of a tool', () => new RunningCall(this.recorder, spec, args));
    if (running === undefined) return fn.apply(thisArg, args);
    const verdict = this.gate.decide(running.gateCall());
    return this.perform(running, verdict, () => fn.apply(thisArg, args));
  }

  private perform(running: RunningCall, verdict: GateVerdict, run: () => unknown): unknown {
    let value: unknown;
    running.onStack = true;
    try {
      if (verdict.action === 'throw') throw verdict.error;
      else if (verdict.action === 'answer') value = verdict.value;
      else if (verdict.action === 'promise') value = verdict.promise;
      else value = this.recorder.scopes.run(running.ownScope, run);
    } catch (error) {
      running.threw(error, true);
      throw error;
    } finally {
      running.onStack = false;
    }
    this.recorder.options.diagnostics.guard('result of a tool', () => this.observe(running, value));
    return value;
  }

  /** The program gets the very value it would have had; what comes of it is watched as the program uses it. */
  private observe(running: RunningCall, value: unknown): void {
    if (isGenerator(value)) {
      running.soFar = watchGenerator(value, {
        within: (step) => this.recorder.scopes.run(running.ownScope, step),
        ended: (end) => running.generated(end),
      });
      return;
    }
    const settles = watchThenable(
      value,
      (result) => running.returned(result, false),
      (error) => running.threw(error, false),
    );
    if (!settles) running.returned(value, true);
  }
}

/** How a call ended. */
interface CallEnd {
  readonly json: TypedJson;
  readonly lost: readonly string[];
  readonly outcome: 'ok' | 'error' | 'open';
  readonly synchronous: boolean;
  /** The call itself failed; else `json` is what it answered. */
  readonly thrown?: boolean;
  readonly error?: unknown;
}

class RunningCall implements OpenCall {
  /** The function itself has not come back yet. */
  onStack = false;
  /** What a generator has given until now. */
  soFar: (() => GeneratorEnd) | undefined;
  readonly ownScope: Scope;
  private readonly recorder: Recorder;
  private readonly spec: FunctionSpec;
  private readonly scope: Scope;
  private readonly args: unknown;
  private readonly spanId: string;
  private readonly seqStart: number;
  private readonly startMs: number;

  constructor(recorder: Recorder, spec: FunctionSpec, args: unknown[]) {
    this.recorder = recorder;
    this.spec = spec;
    this.scope = recorder.scopes.current();
    // Snapshot now: the program may change its argument objects later.
    this.args = encodeTyped(callArguments(args)).json;
    this.spanId = recorder.options.ids.spanId();
    this.seqStart = recorder.nextSeq(this.scope.session);
    this.startMs = recorder.options.clock.now();
    recorder.openCalls.add(this);
    const name = `${spec.kind === 'tool' ? 't' : 'o'}:${encodeURIComponent(spec.name)}`;
    const ordinal = nextOrdinal(this.scope, name);
    this.ownScope = makeScope({
      path: `${this.scope.path === '' ? '' : `${this.scope.path}/`}${name}#${ordinal + 1}`,
      session: this.scope.session,
      spanId: this.spanId,
      traceId: this.scope.traceId,
      ...(this.scope.agentId !== undefined && { agentId: this.scope.agentId }),
    });
  }

  gateCall(): GateCall {
    const { kind, name, replay } = this.spec;
    return { kind, name, replay, args: this.args, scope: this.scope.path, sessionId: this.scope.session.id };
  }

  returned(value: unknown, synchronous: boolean): void {
    this.finish(() => ({ ...encodeTyped(value), outcome: 'ok', synchronous }));
  }

  threw(error: unknown, synchronous: boolean): void {
    this.finish(() => ({ ...encodeTyped(error), outcome: 'error', synchronous, thrown: true, error }));
  }

  generated({ json, lost, failed, error }: GeneratorEnd): void {
    this.finish(() => ({ json, lost, outcome: failed ? 'error' : 'ok', synchronous: true, error }));
  }

  /** The process ends before the call does. */
  leftOpen(): void {
    const { json, lost } = this.soFar?.() ?? { json: undefined, lost: [] };
    this.finish(() => ({ json, lost, outcome: 'open', synchronous: this.onStack || this.soFar !== undefined }));
  }

  private finish(describeEnd: () => CallEnd): void {
    const { recorder } = this;
    if (!recorder.openCalls.delete(this)) return;
    recorder.options.diagnostics.guard('end of a tool', () => {
      const end = describeEnd();
      const { kind, name, replay } = this.spec;
      const shared = {
        startMs: this.startMs,
        seqStart: this.seqStart,
        outcome: end.outcome,
        synchronous: end.synchronous,
        args: this.args,
        ...(end.outcome === 'error' && { error: toRecordedError(end.error) }),
        ...(end.lost.length > 0 && {
          attributes: { [GAP_ATTRIBUTE]: `not carried: ${end.lost.slice(0, 5).join(', ')}` },
        }),
      };
      const value = (field: 'result' | 'value'): Record<string, TypedJson> =>
        end.outcome === 'open' && end.json === undefined ? {} : { [end.thrown === true ? 'thrown' : field]: end.json };
      const record: FunctionRecord =
        kind === 'tool'
          ? { ...shared, kind, name: `execute_tool ${name}`, tool: name, replay, ...value('result') }
          : { ...shared, kind, name: `observe ${name}`, key: name, ...value('value') };
      recorder.finishFunction(this.scope, record, this.spanId);
    });
  }
}
