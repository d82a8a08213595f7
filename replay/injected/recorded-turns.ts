import { createHash } from 'node:crypto';
import { asProviderRequest } from '../../instrumentation/llm-client';
import type { Provider } from '../../instrumentation/providers/provider';
import { providers } from '../../instrumentation/providers/registry';
import { canonicalJson } from '../../instrumentation/schema/canonical-json';
import type { ExecutionTurn } from '../../instrumentation/schema/execution-log';
import { canonicalKey } from '../player/call-key';
import { short } from '../player/recorded-calls';

/** A turn, or an observation in the form of one: request `{ key }`, response `{ result }` or `{ error }`. */
export interface RecordedEntry extends Omit<ExecutionTurn, 'type'> {
  readonly type: ExecutionTurn['type'] | 'observation';
}

/** A call as an injected client is asked it; its request is plain JSON. */
export interface AskedCall {
  readonly type: RecordedEntry['type'];
  readonly request: Readonly<Record<string, unknown>>;
}

/** The call in words, for messages. */
export function labelOf(call: AskedCall): string {
  if (call.type === 'tool_call') return `tool ${toolName(call)}(${short(call.request['args'] ?? {})})`;
  if (call.type === 'observation') return kindOf(call);
  const model = call.request['model'];
  return `LLM call${typeof model === 'string' ? ` to ${model}` : ''}`;
}

export function toolName(call: AskedCall): string {
  return String(call.request['name'] ?? '');
}

/** Calls of one kind are told apart by tool name. */
export function kindOf(call: AskedCall): string {
  if (call.type === 'observation') return `observation ${String(call.request['key'])}`;
  return call.type === 'tool_call' ? `tool ${toolName(call)}` : 'llm';
}

/** One key function for what was recorded and what is asked. */
export function exactKeyOf(call: AskedCall): string {
  return digest(`${kindOf(call)}\n${canonicalJson(call.request)}`);
}

/** Conversations repeat their histories, so keys written out would grow with the square of their length. */
function digest(key: string): string {
  return createHash('sha256').update(key).digest('base64');
}

/** Ids are renamed in conversations only: in the arguments of a tool an id is what the call is about. */
function renamedKeyOf(call: AskedCall): string {
  if (call.type !== 'llm_call') return exactKeyOf(call);
  const body = Buffer.from(JSON.stringify(call.request));
  return digest(canonicalKey({ method: 'POST', url: '/', headers: [], body }, []));
}

/** The wire format of a turn: as recorded, else by the look of its answer. */
export function providerOf(turn: RecordedEntry): Provider {
  const wanted =
    turn.provider ??
    (Array.isArray(turn.response['choices'])
      ? 'openai-chat'
      : Array.isArray(turn.response['output'])
        ? 'openai-responses'
        : 'anthropic-messages');
  return providers.find((provider) => provider.id === wanted) ?? providers[0];
}

/** What must agree for a recorded answer to stand in the place of an edited call. */
export function shapeOf(call: AskedCall, provider: Provider): string {
  if (call.type !== 'llm_call') return kindOf(call);
  return `llm ${provider.shape(asProviderRequest(provider, call.request))}`;
}

/** A turn of the log and what has become of it. */
export class RecordedTurn {
  readonly turn: RecordedEntry;
  /** From 1; null for an observation. */
  readonly number: number | null;
  readonly exactKey: string;
  /** Place of completion in one order of the log; Infinity when it was still open. */
  readonly completed: number;
  /** Place of issue in the same order. */
  readonly issued: number;
  /** Place among the calls of the replay, once asked. */
  askedAt: number | undefined;
  private renamed: string | undefined;

  constructor(turn: RecordedEntry, number: number | null, times: { issued: number; completed: number }) {
    this.turn = turn;
    this.number = number;
    this.exactKey = exactKeyOf(turn);
    this.issued = times.issued;
    this.completed = times.completed;
  }

  get renamedKey(): string {
    return (this.renamed ??= renamedKeyOf(this.turn));
  }

  get isUsed(): boolean {
    return this.askedAt !== undefined;
  }

  get label(): string {
    return labelOf(this.turn);
  }

  /** The label with its place. */
  get placedLabel(): string {
    return this.number === null ? this.label : `turn ${this.number} (${this.label})`;
  }

  /** Whether a call asks the same, ids of the conversation aside. */
  asksTheSame(call: AskedCall): boolean {
    return this.exactKey === exactKeyOf(call) || (call.type === 'llm_call' && this.renamedKey === renamedKeyOf(call));
  }
}

/** The turns of a log; each answers one call. */
export class RecordedTurns {
  readonly all: readonly RecordedTurn[];
  private readonly byExact = new Map<string, RecordedTurn[]>();
  private asked = 0;

  constructor(turns: readonly RecordedEntry[]) {
    const times = timesOf(turns);
    this.all = turns.map((turn, index) => {
      // Observations come after the turns, so the numbers of the turns are those of the log.
      const number = turn.type === 'observation' ? null : index + 1;
      return new RecordedTurn(turn, number, times[index] ?? { issued: 0, completed: 0 });
    });
    for (const recorded of this.all) {
      const same = this.byExact.get(recorded.exactKey);
      if (same === undefined) this.byExact.set(recorded.exactKey, [recorded]);
      else same.push(recorded);
    }
  }

  /** The earliest unused turn that asked the same. */
  match(call: AskedCall): RecordedTurn | undefined {
    const exact = this.byExact.get(exactKeyOf(call))?.find((recorded) => !recorded.isUsed);
    if (exact !== undefined || call.type !== 'llm_call') return exact;
    const key = renamedKeyOf(call);
    return this.unused().find((recorded) => recorded.turn.type === 'llm_call' && recorded.renamedKey === key);
  }

  /** How often the same was asked when it was recorded. */
  timesRecorded(call: AskedCall): number {
    return this.byExact.get(exactKeyOf(call))?.length ?? 0;
  }

  claim(recorded: RecordedTurn): void {
    recorded.askedAt = this.asked += 1;
  }

  unused(): RecordedTurn[] {
    return this.all.filter((recorded) => !recorded.isUsed);
  }

  /** The k-th turn of a kind, from 1. */
  ofKind(kind: string, ordinal: number): RecordedTurn | undefined {
    return this.all.filter((recorded) => kindOf(recorded.turn) === kind)[ordinal - 1];
  }

  /**
   * Turns that were asked before one whose answer they had waited for when they were recorded: the conversation went
   * another way, though each single question is the same.
   */
  reordered(): RecordedTurn[] {
    const asked = this.all.filter((recorded) => recorded.isUsed);
    asked.sort((a, b) => (b.askedAt ?? 0) - (a.askedAt ?? 0));
    let earliestLater = Infinity;
    return asked.filter((recorded) => {
      const early = earliestLater < recorded.issued;
      earliestLater = Math.min(earliestLater, recorded.completed);
      return early;
    });
  }
}

/** Issue and completion of each turn in one order: as recorded, else from the wall clock. */
function timesOf(turns: readonly RecordedEntry[]): { issued: number; completed: number }[] {
  if (turns.every((turn) => turn.order !== undefined))
    return turns.map(({ order }) => ({ issued: order?.start ?? 0, completed: order?.end ?? Infinity }));
  return turns.map((turn) => {
    const issued = Date.parse(turn.timestamp) || 0;
    // A whole millisecond can hold a whole turn, so what began in the millisecond of an end may have been parallel.
    return { issued, completed: turn.outcome === 'open' ? Infinity : issued + Math.max(turn.durationMs, 0) };
  });
}
