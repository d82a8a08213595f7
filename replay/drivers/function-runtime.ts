import type { CallGate } from '../../instrumentation/call-gate';
import type { Scope } from '../../instrumentation/context';
import type { FunctionSpec, Invocation } from '../../instrumentation/function-calls';
import type { Recorder } from '../../instrumentation/recorder';
import { Runtime } from '../../instrumentation/runtime';
import type { OutcomeDetails, SessionOptions } from '../../instrumentation/runtime';

/**
 * What the functions of 'reenact' do while a function is replayed: inside it they belong to the replay, for all other
 * code of the process they do what they did before.
 */
export class FunctionRuntime extends Runtime {
  private readonly outer: Runtime | undefined;
  private readonly scope: Scope;
  private adopted = false;

  constructor(recorder: Recorder, gate: CallGate, place: { outer: Runtime | undefined; scope: Scope }) {
    super(recorder, gate);
    this.outer = place.outer;
    this.scope = place.scope;
  }

  private get isOutside(): boolean {
    return this.recorder.scopes.isUntracked();
  }

  override session<T>(options: SessionOptions, fn: () => T): T {
    if (this.isOutside) return this.outer === undefined ? fn() : this.outer.session(options, fn);
    const { session, path } = this.scope;
    // The function already runs as the recorded session; that it begins it itself must not nest it.
    if (!this.adopted && path !== '' && options.id === session.id && this.recorder.scopes.current() === this.scope) {
      this.adopted = true;
      return fn();
    }
    return super.session(options, fn);
  }

  override call(spec: FunctionSpec, fn: (...args: never[]) => unknown, invocation: Invocation): unknown {
    if (!this.isOutside) return super.call(spec, fn, invocation);
    if (this.outer !== undefined) return this.outer.call(spec, fn, invocation);
    return Reflect.apply(fn, invocation.thisArg, invocation.args) as unknown;
  }

  override decision(name: string, data: unknown): void {
    if (this.isOutside) this.outer?.decision(name, data);
    else super.decision(name, data);
  }

  override outcome(outcome: 'resolved' | 'escalated' | 'abandoned', details: OutcomeDetails): void {
    if (this.isOutside) this.outer?.outcome(outcome, details);
    else super.outcome(outcome, details);
  }

  override markFailure(reason: string): void {
    if (this.isOutside) this.outer?.markFailure(reason);
    else super.markFailure(reason);
  }
}
