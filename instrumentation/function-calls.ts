import type { CallGate, GateCall, GateVerdict } from './call-gate';
import { makeScope, nextOrdinal } from './context';
import type { Scope } from './context';
import type { Recorder } from './recorder';
import { encodeTyped } from './schema/typed-json';
import type { RecordedError } from './schema/records';

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
  const single = args.length === 1 && typeof only === 'object' && only !== null && !Array.isArray(only);
  return single ? only : [...args];
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
}

export function toRecordedError(error: unknown): RecordedError {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) };
  const code = (error as { code?: unknown }).code;
  return { name: error.name, message: error.message, ...(typeof code === 'string' && { code }) };
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
    try {
      if (verdict.action === 'throw') throw verdict.error;
      else if (verdict.action === 'answer') value = verdict.value;
      else if (verdict.action === 'promise') value = verdict.promise;
      else value = this.recorder.scopes.run(running.ownScope, run);
    } catch (error) {
      running.threw(error, true);
      throw error;
    }
    if (!isPromise(value)) {
      running.returned(value, true);
      return value;
    }
    // The program keeps the promise it would have had; ours is a side branch whose failure is the program's to handle.
    value.then(
      (result) => running.returned(result, false),
      (error: unknown) => running.threw(error, false),
    );
    return value;
  }
}

class RunningCall {
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
    this.finish({ value, synchronous });
  }

  threw(error: unknown, synchronous: boolean): void {
    this.finish({ error, synchronous });
  }

  private finish(end: { value?: unknown; error?: unknown; synchronous: boolean }): void {
    const failed = 'error' in end;
    const { diagnostics } = this.recorder.options;
    diagnostics.guard('end of a tool', () => {
      const encoded = encodeTyped(failed ? end.error : end.value);
      const shared = {
        startMs: this.startMs,
        seqStart: this.seqStart,
        outcome: failed ? ('error' as const) : ('ok' as const),
        synchronous: end.synchronous,
        args: this.args,
        ...(failed && { error: toRecordedError(end.error) }),
        ...(encoded.lost.length > 0 && {
          attributes: { 'reenact.gap': `not carried: ${encoded.lost.slice(0, 5).join(', ')}` },
        }),
      };
      const { kind, name, replay } = this.spec;
      if (kind === 'tool') {
        this.recorder.finishFunction(
          this.scope,
          {
            ...shared,
            kind,
            name: `execute_tool ${name}`,
            tool: name,
            replay,
            ...(failed ? { thrown: encoded.json } : { result: encoded.json }),
          },
          this.spanId,
        );
      } else {
        this.recorder.finishFunction(
          this.scope,
          {
            ...shared,
            kind,
            name: `observe ${name}`,
            key: name,
            ...(failed ? { thrown: encoded.json } : { value: encoded.json }),
          },
          this.spanId,
        );
      }
    });
  }
}
