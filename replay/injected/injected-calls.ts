import { ReenactError } from '../../instrumentation/schema/errors';
import type { CallOverrides } from './call-overrides';
import { explainTurn, mismatchMessage, nearestTurn } from './explain-turn';
import { recordedAnswer } from './recorded-answer';
import type { Answer, ErrorMaker } from './recorded-answer';
import { kindOf, labelOf, providerOf, shapeOf } from './recorded-turns';
import type { AskedCall, RecordedTurn, RecordedTurns } from './recorded-turns';
import { ReleaseOrder } from './release-order';
import { ReplayedStream } from './replayed-stream';
import type { ReplayTally } from './replay-tally';

export type MatchStrategy = 'position' | 'content' | 'causal';
export type InjectedPolicy = 'fail' | 'recorded' | 'live';

export interface InjectedCallsOptions {
  readonly turns: RecordedTurns;
  readonly overrides: CallOverrides;
  readonly tally: ReplayTally;
  readonly match: MatchStrategy;
  readonly onDivergence: InjectedPolicy;
  readonly makeError?: ErrorMaker | undefined;
}

/** How a call would be made for real, and the form in which its answer is wanted. */
export interface AskedForm {
  readonly live: () => unknown;
  readonly wantsStream?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** A call with its place among all calls of the replay, from 1. */
interface PlacedCall extends AskedCall {
  readonly position: number;
}

interface WaveCall {
  readonly call: PlacedCall;
  assign(recorded: RecordedTurn | undefined): void;
}

/** Answers the calls of an injected client from the turns of a log. */
export class InjectedCalls {
  private readonly options: InjectedCallsOptions;
  private readonly order: ReleaseOrder;
  private readonly askedOfKind = new Map<string, number>();
  private asked = 0;
  /** Edited calls, which get the answers of their places once all exact ones of the moment have theirs. */
  private wave: WaveCall[] = [];

  constructor(options: InjectedCallsOptions) {
    this.options = options;
    this.order = new ReleaseOrder({ atRest: () => this.assignWave() });
  }

  /** Rejects with a ReenactError when no recording answers the call and the policy is `fail`. */
  async ask(asked: AskedCall, form: AskedForm): Promise<unknown> {
    const { overrides, tally } = this.options;
    const call: PlacedCall = { ...asked, position: (this.asked += 1) };
    const recorded = this.find(call);
    if (recorded === undefined && !overrides.coversEvery(call)) return this.diverged(call, form);
    if (recorded === undefined) return this.deliver(call, undefined, form);
    const overridden = overrides.isSpecific(recorded) || overrides.coversEvery(call);
    this.claim(recorded);
    tally.used(recorded, overridden ? 'overridden' : 'exact');
    return this.deliver(call, recorded, form);
  }

  private claim(recorded: RecordedTurn): void {
    this.options.turns.claim(recorded);
  }

  /** The recording of a call: the same question, or the place that was given a value of its own. */
  private find(call: PlacedCall): RecordedTurn | undefined {
    const { turns, overrides, match } = this.options;
    const kind = kindOf(call);
    const ordinal = (this.askedOfKind.get(kind) ?? 0) + 1;
    this.askedOfKind.set(kind, ordinal);
    const found = match === 'position' ? this.atPosition(call) : turns.match(call);
    if (found !== undefined) return found;
    const place = turns.ofKind(kind, ordinal);
    if (place !== undefined && !place.isUsed && overrides.isSpecific(place)) return place;
    return overrides.coversEvery(call) ? turns.unused().find((recorded) => kindOf(recorded.turn) === kind) : undefined;
  }

  private atPosition(call: PlacedCall): RecordedTurn | undefined {
    const { turns } = this.options;
    const here = turns.all[call.position - 1];
    if (here === undefined || here.isUsed) return undefined;
    return here.asksTheSame(call) ? here : undefined;
  }

  private diverged(call: PlacedCall, form: AskedForm): Promise<unknown> {
    const { onDivergence } = this.options;
    if (onDivergence === 'live') return this.goLive(call, form);
    if (onDivergence === 'fail') return Promise.reject(this.fail(call));
    return new Promise((resolve, reject) => {
      const assign = (recorded: RecordedTurn | undefined): void => {
        if (recorded === undefined) reject(this.fail(call));
        else resolve(this.relax(call, recorded, form));
      };
      this.wave.push({ call, assign });
      this.order.touch();
    });
  }

  private async goLive(call: PlacedCall, form: AskedForm): Promise<unknown> {
    this.options.tally.add(explainTurn('live', call, this.reference(call)));
    return form.live();
  }

  private relax(call: PlacedCall, recorded: RecordedTurn, form: AskedForm): Promise<unknown> {
    const { tally, overrides } = this.options;
    tally.used(recorded, 'relaxed');
    tally.add(explainTurn('relaxed', call, { reference: recorded, override: overrides.lastUsed }));
    return this.deliver(call, recorded, form);
  }

  private reference(call: PlacedCall): Parameters<typeof explainTurn>[2] {
    const { turns, match, overrides } = this.options;
    const here = match === 'position' ? turns.all[call.position - 1] : undefined;
    const nearest = match === 'position' ? here : nearestTurn(call, turns.unused());
    return { reference: nearest, override: overrides.lastUsed };
  }

  private fail(call: PlacedCall): ReenactError {
    const { turns, tally, match } = this.options;
    const found = this.reference(call);
    tally.add(explainTurn('diverged', call, found));
    const times = turns.timesRecorded(call);
    if (found.reference === undefined)
      return new ReenactError('REPLAY_EXHAUSTED', `${labelOf(call)}: the log holds no further call`);
    if (times > 0 && match !== 'position')
      return new ReenactError(
        'REPLAY_EXHAUSTED',
        `${labelOf(call)} was recorded ${times} time(s) and is asked once more; ${mismatchMessage(call, found.reference)}`,
      );
    return new ReenactError('REPLAY_MISMATCH', mismatchMessage(call, found.reference));
  }

  /** Gives the edited calls of a moment the unused recordings of their places: the same shape, in order. */
  private assignWave(): boolean {
    const wave = this.wave;
    this.wave = [];
    for (const { call, assign } of wave) assign(this.placeOf(call));
    return wave.length > 0;
  }

  private placeOf(call: PlacedCall): RecordedTurn | undefined {
    const { turns, match } = this.options;
    const here = turns.all[call.position - 1];
    const places = match !== 'position' ? turns.unused() : here === undefined || here.isUsed ? [] : [here];
    const place = places.find(({ turn }) => {
      const provider = providerOf(turn);
      return turn.type === call.type && shapeOf(turn, provider) === shapeOf(call, provider);
    });
    if (place !== undefined) this.claim(place);
    return place;
  }

  /** Waits for the recorded moment of the answer, then gives it. */
  private async deliver(call: AskedCall, recorded: RecordedTurn | undefined, form: AskedForm): Promise<unknown> {
    await this.turnOf(recorded, form.signal);
    const wantsStream = form.wantsStream === true;
    const { overrides, makeError } = this.options;
    const answer =
      (await overrides.answer(call, recorded, wantsStream)) ??
      (recorded === undefined ? neverAnswered : recordedAnswer(recorded.turn, wantsStream, makeError));
    return this.give(answer);
  }

  private turnOf(recorded: RecordedTurn | undefined, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const forget = this.order.add(recorded?.completed ?? Infinity, () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      });
      const onAbort = (): void => {
        forget();
        reject(signal?.reason);
      };
      if (signal?.aborted === true) onAbort();
      else signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  private give(answer: Answer): unknown {
    switch (answer.kind) {
      case 'value':
        return answer.value;
      case 'error':
        throw answer.error;
      case 'stream':
        return new ReplayedStream(
          answer.items,
          answer.end,
          () => new Promise((resolve) => this.order.add(Infinity, resolve)),
        );
      case 'never':
        // It was still unanswered when the recording ended, and stays so.
        return new Promise(() => undefined);
    }
  }
}

const neverAnswered: Answer = { kind: 'never' };
