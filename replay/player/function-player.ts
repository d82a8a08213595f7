import type { CallGate, GateCall, GateVerdict } from '../../instrumentation/call-gate';
import { decodeTyped } from '../../instrumentation/schema/typed-json';
import { encodeTyped } from '../../instrumentation/schema/typed-json';
import type { CallRecord } from '../../instrumentation/schema/records';
import type { ReplayClock } from '../clock/replay-clock';
import { explainForeign, hintFor, overrideCause } from './explain';
import { firstDifference } from './json-difference';
import { applyOverride } from './overrides';
import type { Override } from './overrides';
import { describeCall, short } from './recorded-calls';
import type { FunctionCallRecord, RecordedFunctions } from './recorded-calls';
import type { RecordedEnd } from './recorded-end';
import type { RecordedStatements } from './recorded-statements';
import type { Divergence, DivergenceKind, Use } from './report';
import type { Scheduler } from './scheduler';
import type { ReplayState } from './session-state';

export interface FunctionPlayerParts {
  readonly recorded: RecordedFunctions;
  readonly scheduler: Scheduler;
  readonly state: ReplayState;
  readonly clock: ReplayClock;
  readonly redactJson: (value: unknown) => unknown;
  readonly end: RecordedEnd;
  readonly statements: RecordedStatements;
  /** Marks what a substituted function did inside as done: its own calls will not be made. */
  readonly substituted: (record: FunctionCallRecord) => void;
}

function isGenerated(json: unknown): boolean {
  return typeof json === 'object' && json !== null && (json as { $reenact?: unknown }).$reenact === 'generator';
}

const RUN: GateVerdict = { action: 'run' };

/** Answers the tools and observations of a replayed program. */
export class FunctionPlayer implements CallGate {
  private readonly parts: FunctionPlayerParts;

  constructor(parts: FunctionPlayerParts) {
    this.parts = parts;
  }

  note(record: CallRecord): void {
    this.parts.statements.note(record);
  }

  decide(call: GateCall): GateVerdict {
    const { state, recorded } = this.parts;
    const redacted = { ...call, args: this.parts.redactJson(call.args) };
    const named = call.kind === 'tool' ? state.overrides.byTool.get(call.name) : undefined;
    if (state.isLiveFromHere && named === undefined) return this.live(call);
    const match = recorded.match(redacted);
    if (match !== undefined) {
      state.reached(match.spanId);
      const own = state.overrides.bySpan.get(match.spanId);
      if (own !== undefined) return this.overridden(match, own.override, own.turn);
      if (named !== undefined) return this.overridden(match, named, state.turnOf(match.spanId));
      if (state.isLiveFromHere || (state.options.live === 'tools' && call.kind === 'tool'))
        return this.live(call, match);
      return this.answer(match, call, 'exact');
    }
    if (named !== undefined) return this.overriddenUnrecorded(redacted, named);
    return this.miss(redacted);
  }

  private miss(call: GateCall): GateVerdict {
    const { state, recorded } = this.parts;
    if (call.replay === 'run') return RUN;
    if ((state.options.live === 'tools' && call.kind === 'tool') || state.divergesToLive()) return this.live(call);
    const place = recorded.named(call).find((record) => record.scope === call.scope);
    if (state.policy === 'recorded' && place !== undefined) {
      state.note(this.explain('relaxed', call, place));
      return this.answer(place, call, 'relaxed');
    }
    return { action: 'throw', error: state.diverged(this.explain('diverged', call)) };
  }

  private use(record: FunctionCallRecord, use: Use): void {
    const { recorded, state, clock } = this.parts;
    recorded.claim(record);
    state.used.set(record.spanId, use);
    clock.passed(record.sessionId, record.seqStart);
  }

  private answer(record: FunctionCallRecord, call: GateCall, use: Use): GateVerdict {
    this.use(record, use);
    if (call.replay === 'run') return RUN;
    this.parts.substituted(record);
    const result = record.kind === 'tool' ? record.result : record.value;
    if (record.outcome === 'open' && result === undefined) return this.leftOpen(record);
    if (record.thrown !== undefined)
      return this.deliver(record, () => Promise.reject(decodeTyped(record.thrown)), { error: record.thrown });
    return this.deliver(record, () => Promise.resolve(decodeTyped(result)), { value: result });
  }

  /** Synchronous functions answer at once, all others at their place in the recorded order. */
  private deliver(
    record: FunctionCallRecord,
    settle: () => Promise<unknown>,
    now: { value?: unknown; error?: unknown },
  ): GateVerdict {
    if (record.synchronous) {
      // The end of a generator comes after what the program did while it took the items.
      if (!isGenerated(now.value)) {
        this.parts.clock.advanceTo(record.endMs);
        this.parts.clock.passed(record.sessionId, record.seqEnd);
      }
      return 'error' in now
        ? { action: 'throw', error: decodeTyped(now.error) }
        : { action: 'answer', value: decodeTyped(now.value) };
    }
    const promise = new Promise((resolve) => {
      this.parts.scheduler.add({
        seq: record.seqEnd,
        ms: record.endMs,
        sessionId: record.sessionId,
        run: () => resolve(settle()),
      });
    });
    return { action: 'promise', promise };
  }

  /** The process ended inside this call, or before it came back: no value is known, and the end comes in its place. */
  private leftOpen(record: FunctionCallRecord): GateVerdict {
    if (record.synchronous) this.parts.end.now();
    else this.parts.end.atRest();
    return { action: 'promise', promise: new Promise(() => undefined) };
  }

  private overridden(record: FunctionCallRecord, override: Override, turn: number | null): GateVerdict {
    this.use(record, 'overridden');
    this.parts.substituted(record);
    this.parts.state.overrideUsed(override, turn);
    const recordedResult = record.kind === 'tool' ? record.result : record.value;
    const value = applyOverride(override, decodeTyped(recordedResult));
    return this.deliver(record, () => Promise.resolve(value), { value: encodeTyped(value).json });
  }

  /** `--set tool:NAME=VALUE` answers every call of the tool, recorded or not. */
  private overriddenUnrecorded(call: GateCall, override: Override): GateVerdict {
    this.parts.state.overrideUsed(override, null);
    const value = applyOverride(override, undefined);
    const sample = this.parts.recorded.named(call)[0];
    return sample?.synchronous === true
      ? { action: 'answer', value }
      : { action: 'promise', promise: Promise.resolve(value) };
  }

  private live(call: GateCall, match?: FunctionCallRecord): GateVerdict {
    if (match !== undefined) this.use(match, 'live');
    this.parts.state.wentLive(this.explain('live', call, match));
    return RUN;
  }

  private neverRecorded(call: GateCall): string {
    const turn = call.kind === 'tool' ? this.parts.state.inferredTurnOf(call.name) : undefined;
    return turn === undefined
      ? 'new call: it was never made when this was recorded'
      : `it was not declared when this was recorded: turn ${turn} is known from the messages only`;
  }

  private explain(kind: DivergenceKind, call: GateCall, answeredBy?: FunctionCallRecord): Divergence {
    const { recorded, state } = this.parts;
    const foreign = state.foreignSession(call.scope);
    if (foreign !== undefined && answeredBy === undefined)
      return explainForeign(kind, `${call.kind} ${call.name}`, foreign);
    const unused = recorded.unused();
    const nearest =
      answeredBy ??
      recorded.named(call)[0] ??
      unused.find((record) => record.kind === call.kind && record.scope === call.scope) ??
      unused[0];
    const sameName = nearest !== undefined && describeCall(nearest).startsWith(`${call.kind} ${call.name}`);
    const difference = sameName ? firstDifference(nearest.args, call.args) : undefined;
    const override = state.usedOverride();
    const newCall = recorded.knows(call) ? 'every recording of it has been used' : this.neverRecorded(call);
    return {
      kind,
      turn: nearest === undefined ? null : state.turnOf(nearest.spanId),
      rule: sameName ? 'arguments' : 'name',
      path: difference?.path ?? '',
      expected: difference?.expected ?? (nearest === undefined ? null : describeCall(nearest)),
      actual: difference?.actual ?? `${call.kind} ${call.name}(${short(call.args)})`,
      nearest: nearest === undefined ? null : describeCall(nearest),
      name: `${call.kind} ${call.name}`,
      cause:
        override !== undefined
          ? overrideCause(override)
          : sameName
            ? 'the arguments differ from the recorded ones'
            : newCall,
      hint:
        kind === 'diverged'
          ? `${call.kind === 'tool' ? `Answer it with --set tool:${call.name}=VALUE, or` : 'Make it for real with'} --on-divergence live.`
          : hintFor(kind),
    };
  }
}
