import { CompactJsonStore, decodeCompact } from './compact-json';
import type { CompactJson } from './compact-json';
import { originals } from './originals';
import { canonicalJson } from './schema/canonical-json';
import type { ExecutionLog, ExecutionTurn } from './schema/execution-log';
import type { Gap, Outcome, RecordedError } from './schema/records';
import { encodeTyped, toPlainJson } from './schema/typed-json';
import { describeThrown, errorBody, statusOf } from './thrown-value';

/** Characters of distinct content that a log keeps unless it is told otherwise. */
const MAX_SIZE = 256 * 1024 * 1024;
/** Gaps of one log that are named one by one. */
const MAX_GAPS = 100;

export interface TurnLogOptions {
  readonly sessionId: string;
  readonly agentVersion?: string;
  readonly promptVersion?: string;
  readonly agentId?: string;
  /** Characters of distinct content; turns beyond it are named in a gap instead of kept. */
  readonly maxSize?: number;
}

export interface TurnStart {
  readonly type: ExecutionTurn['type'];
  /** Called at once; may throw. */
  readonly request: () => object;
  readonly turnId?: string;
  readonly provider?: string;
}

interface KeptTurn {
  readonly id: string;
  readonly type: ExecutionTurn['type'];
  readonly provider: string | undefined;
  readonly startMs: number;
  readonly startMark: number;
  readonly order: { readonly start: number; end: number | null };
  request: CompactJson;
  response: CompactJson;
  items: string[] | undefined;
  typedResponse: string | undefined;
  durationMs: number;
  outcome: Outcome;
  error: RecordedError | undefined;
  status: number | undefined;
  /** Beyond the bound of the log. */
  lost: boolean;
}

const microseconds = (ms: number): number => Math.round(ms * 1000) / 1000;

/** The turns of one conversation, in the order in which they were issued. Never throws into its caller. */
export class TurnLog {
  private readonly options: TurnLogOptions;
  private readonly startedMs = originals.dateNow();
  private readonly store = new CompactJsonStore();
  private readonly turns: KeptTurn[] = [];
  private readonly gaps: Gap[] = [];
  private order = 0;

  constructor(options: TurnLogOptions) {
    this.options = options;
  }

  /** A call is about to be made; its request is copied now, because programs go on changing their objects. */
  begin(start: TurnStart): OpenTurn {
    const turn: KeptTurn = {
      id: start.turnId ?? `turn-${this.turns.length + 1}`,
      type: start.type,
      provider: start.provider,
      startMs: originals.dateNow(),
      startMark: originals.performanceNow(),
      order: { start: (this.order += 1), end: null },
      request: [],
      response: [],
      items: undefined,
      typedResponse: undefined,
      durationMs: 0,
      outcome: 'open',
      error: undefined,
      status: undefined,
      lost: false,
    };
    this.turns.push(turn);
    this.write(turn, 'request', () => (turn.request = this.store.encode(start.request())));
    return new OpenTurn({
      write: (part, store) => this.write(turn, part, store),
      finish: (outcome) => {
        turn.order.end = this.order += 1;
        turn.durationMs = microseconds(originals.performanceNow() - turn.startMark);
        turn.outcome = outcome;
      },
      turn,
      store: this.store,
      gap: (code, message) => this.gap(code, `${turn.id}: ${message}`),
    });
  }

  private write(turn: KeptTurn, part: string, store: () => void): void {
    try {
      if (!turn.lost) store();
    } catch (error) {
      this.gap('VALUE_NOT_RECORDED', `${turn.id}: the ${part} is not JSON: ${describeThrown(error).message}`);
    }
    if (this.store.size > (this.options.maxSize ?? MAX_SIZE)) {
      turn.lost = true;
      turn.request = turn.response = [];
      turn.items = turn.typedResponse = undefined;
    }
  }

  private gap(code: string, message: string): void {
    if (this.gaps.length < MAX_GAPS) this.gaps.push({ code, message, sessionId: this.options.sessionId });
  }

  /** The log so far. Every call makes new objects, which the caller may change. */
  toLog(fields: { [field: string]: unknown } = {}): ExecutionLog {
    const { sessionId, agentVersion = '', promptVersion = '', agentId } = this.options;
    const kept = this.turns.filter((turn) => !turn.lost);
    const gaps = [...this.gaps, ...this.lostTurns()];
    return {
      sessionId,
      agentVersion,
      promptVersion,
      startedAt: new originals.Date(this.startedMs).toISOString(),
      ...(agentId !== undefined && { agentId }),
      turns: kept.map((turn) => toTurn(turn, agentId)),
      ...(gaps.length > 0 && { gaps }),
      ...fields,
    };
  }

  private lostTurns(): Gap[] {
    const lost = this.turns.filter((turn) => turn.lost);
    const [first] = lost;
    if (first === undefined) return [];
    const last = lost.length > 1 ? ` to ${lost.at(-1)?.id ?? ''}` : '';
    const message = `${first.id}${last}: ${lost.length} turn(s) beyond the bound of ${this.options.maxSize ?? MAX_SIZE} characters`;
    return [{ code: 'TURNS_NOT_KEPT', message, sessionId: this.options.sessionId }];
  }
}

interface TurnParts {
  readonly turn: KeptTurn;
  readonly store: CompactJsonStore;
  write(part: string, store: () => void): void;
  finish(outcome: Outcome): void;
  gap(code: string, message: string): void;
}

/** A call under way. The first of `answered`, `returned`, `threw`, `failed` ends it; later ones are ignored. */
export class OpenTurn {
  private readonly parts: TurnParts;
  private ended = false;

  constructor(parts: TurnParts) {
    this.parts = parts;
  }

  /** The answer is a stream, of which nothing has been read yet. */
  streams(): void {
    this.parts.write('stream', () => (this.parts.turn.items = []));
  }

  /** A piece of a streamed answer. */
  item(value: unknown): void {
    if (this.ended) return;
    const { turn, store } = this.parts;
    this.parts.write('stream', () => {
      const text = store.keep(JSON.stringify(value) ?? 'null');
      if (turn.items === undefined) turn.items = [text];
      else turn.items.push(text);
    });
  }

  /** The pieces so far, as JSON texts. */
  items(): readonly string[] {
    return this.parts.turn.items ?? [];
  }

  /** A model's message, or what a stream of it came to. */
  answered(message: unknown, end: { outcome?: Outcome; error?: RecordedError } = {}): void {
    this.end(end.outcome ?? 'ok', (turn, store) => {
      const isObject = typeof message === 'object' && message !== null && !Array.isArray(message);
      turn.error = end.error;
      turn.response = store.encode(isObject ? message : { message });
    });
  }

  /** A tool's result. */
  returned(result: unknown): void {
    this.end('ok', (turn, store) => {
      const plain = this.plain(result);
      turn.response = store.encode({ result: plain });
    });
  }

  /** A tool threw. */
  threw(error: unknown): void {
    this.end('error', (turn, store) => {
      this.plain(error);
      turn.error = describeThrown(error);
      turn.response = store.encode({ error: turn.error });
    });
  }

  /** The model's client threw. */
  failed(error: unknown): void {
    this.end(isAbort(error) ? 'aborted' : 'error', (turn, store) => {
      this.plain(error);
      turn.error = describeThrown(error);
      turn.status = statusOf(error);
      turn.response = store.encode(errorBody(error));
    });
  }

  private end(outcome: Outcome, fill: (turn: KeptTurn, store: CompactJsonStore) => void): void {
    if (this.ended) return;
    this.ended = true;
    this.parts.finish(outcome);
    this.parts.write('response', () => fill(this.parts.turn, this.parts.store));
  }

  /** The value as plain JSON; what that loses is kept beside it, what cannot be kept at all is a gap. */
  private plain(value: unknown): unknown {
    const { json, lost } = encodeTyped(value);
    const plain = toPlainJson(json);
    if (canonicalJson(json) !== canonicalJson(plain))
      this.parts.turn.typedResponse = this.parts.store.keep(JSON.stringify(json));
    if (lost.length > 0) this.parts.gap('VALUE_NOT_RECORDED', `the result holds ${lost.slice(0, 5).join(', ')}`);
    return plain;
  }
}

function isAbort(error: unknown): boolean {
  const { name, constructor } = (error ?? {}) as { name?: unknown; constructor?: { name?: unknown } };
  return name === 'AbortError' || constructor?.name === 'APIUserAbortError';
}

function toTurn(turn: KeptTurn, agentId: string | undefined): ExecutionTurn {
  return {
    turnId: turn.id,
    timestamp: new originals.Date(turn.startMs).toISOString(),
    type: turn.type,
    request: decodeCompact(turn.request),
    response: decodeCompact(turn.response),
    durationMs: turn.durationMs,
    ...(agentId !== undefined && { agentId }),
    ...(turn.provider !== undefined && { provider: turn.provider }),
    ...(turn.status !== undefined && { status: turn.status }),
    outcome: turn.outcome,
    ...(turn.error !== undefined && { error: { ...turn.error } }),
    order: { ...turn.order },
    ...(turn.items !== undefined && { items: turn.items.map((text) => JSON.parse(text) as unknown) }),
    ...(turn.typedResponse !== undefined && { typedResponse: JSON.parse(turn.typedResponse) as unknown }),
  };
}
