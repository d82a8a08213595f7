import { asProviderRequest } from '../../instrumentation/llm-client';
import { ReenactError } from '../../instrumentation/schema/errors';
import { pointerSteps } from '../player/call-key';
import { applyOverride } from '../player/overrides';
import type { Override } from '../player/overrides';
import { copy, itemsOf } from './recorded-answer';
import type { Answer } from './recorded-answer';
import { providerOf, toolName } from './recorded-turns';
import type { AskedCall, RecordedTurn, RecordedTurns } from './recorded-turns';

/**
 * Values in place of recorded ones. Keys as in `--set`: a turn number, `name` or `tool:name` (every call of the tool),
 * `name#k` (its k-th call), `llm#k`, each optionally followed by a JSON Pointer. A value may be a function of the
 * recorded value; what it throws, or an Error given as value, is thrown by the call.
 */
export interface Overrides {
  readonly [key: string]: unknown;
}

interface Entry {
  readonly key: string;
  readonly target:
    | { readonly by: 'turn'; readonly turn: number }
    | { readonly by: 'tool'; readonly name: string; readonly ordinal: number | undefined }
    | { readonly by: 'llm'; readonly ordinal: number }
    | { readonly by: 'everyLlm' };
  readonly pointer: string;
  readonly value: unknown;
}

/** An override that has been used, for explanations. */
export interface UsedOverride {
  readonly turn: number | null;
  readonly text: string;
}

/** The overrides of one replay. */
export class CallOverrides {
  private readonly bySpecific = new Map<RecordedTurn, Entry[]>();
  private readonly everyTool = new Map<string, Entry[]>();
  private readonly everyLlm: Entry[] = [];
  lastUsed: UsedOverride | undefined;

  /**
   * @throws ReenactError SET_INVALID for a key that cannot be read, TURN_NOT_FOUND for one that names no turn
   */
  constructor(
    turns: RecordedTurns,
    given: { toolOverrides?: Overrides | undefined; llmOverrides?: Overrides | undefined },
  ) {
    const names = new Set(turns.all.filter(({ turn }) => turn.type === 'tool_call').map(({ turn }) => toolName(turn)));
    for (const [key, value] of Object.entries(given.toolOverrides ?? {}))
      this.add(turns, readToolKey(key, value, names));
    for (const [key, value] of Object.entries(given.llmOverrides ?? {})) this.add(turns, readLlmKey(key, value));
  }

  private add(turns: RecordedTurns, entry: Entry): void {
    const { target } = entry;
    if (target.by === 'everyLlm') this.everyLlm.push(entry);
    else if (target.by === 'tool' && target.ordinal === undefined) append(this.everyTool, target.name, entry);
    else {
      const recorded =
        target.by === 'turn'
          ? turns.all[target.turn - 1]
          : turns.ofKind(target.by === 'tool' ? `tool ${target.name}` : 'llm', target.ordinal ?? 1);
      if (recorded === undefined)
        throw new ReenactError('TURN_NOT_FOUND', `override ${JSON.stringify(entry.key)}: the log has no such turn`);
      append(this.bySpecific, recorded, entry);
    }
  }

  /** The recorded turn that was given a value of its own. */
  isSpecific(recorded: RecordedTurn): boolean {
    return this.bySpecific.has(recorded);
  }

  /** Whether a call is answered whatever was recorded. */
  coversEvery(call: AskedCall): boolean {
    return this.everyOf(call).length > 0;
  }

  private everyOf(call: AskedCall): readonly Entry[] {
    if (call.type === 'observation') return [];
    return call.type === 'tool_call' ? (this.everyTool.get(toolName(call)) ?? []) : this.everyLlm;
  }

  /**
   * The answer of an overridden call; undefined when nothing overrides it.
   * @throws ReenactError SET_INVALID when a pointer does not exist in the recorded answer
   */
  async answer(call: AskedCall, recorded: RecordedTurn | undefined, wantsStream: boolean): Promise<Answer | undefined> {
    const entries = [...this.everyOf(call), ...((recorded && this.bySpecific.get(recorded)) ?? [])];
    if (entries.length === 0) return undefined;
    this.lastUsed = { turn: recorded?.number ?? null, text: entries.map(({ key }) => key).join(', ') };
    try {
      let value = recordedValue(recorded);
      for (const entry of entries) value = await applied(entry, value, { call, recorded });
      return call.type === 'llm_call' && wantsStream
        ? {
            kind: 'stream',
            items: itemsOf(asTurn(call, recorded), value as Record<string, unknown>),
            end: { by: 'end' },
          }
        : { kind: 'value', value };
    } catch (error) {
      if (error instanceof ReenactError) throw error;
      return { kind: 'error', error };
    }
  }
}

function append<K>(map: Map<K, Entry[]>, key: K, entry: Entry): void {
  map.set(key, [...(map.get(key) ?? []), entry]);
}

function recordedValue(recorded: RecordedTurn | undefined): unknown {
  if (recorded === undefined) return undefined;
  const { turn } = recorded;
  return copy(turn.type === 'tool_call' ? turn.response['result'] : turn.response);
}

async function applied(
  entry: Entry,
  before: unknown,
  { call, recorded }: { call: AskedCall; recorded: RecordedTurn | undefined },
): Promise<unknown> {
  const { value: given, pointer, key } = entry;
  const value: unknown =
    typeof given === 'function'
      ? await (given as (recorded: unknown) => unknown)(valueAt(before, pointer))
      : copy(given);
  if (value instanceof Error) throw value;
  if (pointer !== '') {
    const override: Override = { text: key, pointer, value, isText: false };
    return applyOverride(override, before);
  }
  if (call.type !== 'llm_call' || typeof value !== 'string') return value;
  const provider = providerOf(asTurn(call, recorded));
  return provider.withText(value, asProviderRequest(provider, call.request), recorded?.turn.response);
}

/** The recorded turn, or what stands for it when a call was never recorded. */
function asTurn(call: AskedCall, recorded: RecordedTurn | undefined): RecordedTurn['turn'] {
  const request = { ...call.request };
  return recorded === undefined
    ? { turnId: '', timestamp: '', type: call.type, request, response: {}, durationMs: 0 }
    : { ...recorded.turn, request };
}

function valueAt(value: unknown, pointer: string): unknown {
  let at = value;
  for (const step of pointerSteps(pointer))
    at =
      typeof at === 'object' && at !== null && Object.hasOwn(at, step)
        ? (at as Record<string, unknown>)[step]
        : undefined;
  return at;
}

function invalid(key: string, what: string): ReenactError {
  return new ReenactError('SET_INVALID', `override ${JSON.stringify(key)} ${what}`, {
    hint: "Keys are a turn number, a tool's name, name#k or llm#k, each optionally followed by a JSON Pointer.",
  });
}

function readLlmKey(key: string, value: unknown): Entry {
  const match = /^(?:(\d+)|llm(?:#(\d+))?)(\/.*)?$/s.exec(key);
  if (match === null) throw invalid(key, 'names no LLM call');
  const [, turn, ordinal, pointer = ''] = match;
  if (turn !== undefined) return { key, target: { by: 'turn', turn: positive(key, turn) }, pointer, value };
  const target =
    ordinal === undefined ? ({ by: 'everyLlm' } as const) : ({ by: 'llm', ordinal: positive(key, ordinal) } as const);
  return { key, target, pointer, value };
}

/** Names of tools may hold `/` and `#`, so the recorded ones are known first. */
function readToolKey(key: string, value: unknown, names: ReadonlySet<string>): Entry {
  const text = key.startsWith('tool:') && !names.has(key) ? key.slice('tool:'.length) : key;
  const known = [...names]
    .filter((name) => text.startsWith(name) && /^(?:$|#\d+(?:$|\/)|\/)/.test(text.slice(name.length)))
    .sort((a, b) => b.length - a.length)[0];
  const turn = /^(\d+)(\/.*)?$/s.exec(text);
  if (known === undefined && turn !== null && text === key)
    return { key, target: { by: 'turn', turn: positive(key, turn[1] ?? '') }, pointer: turn[2] ?? '', value };
  const name = known ?? /^[^#/]*/.exec(text)?.[0] ?? '';
  const rest = /^(?:#(\d+))?(\/.*)?$/s.exec(text.slice(name.length));
  if (name === '' || rest === null) throw invalid(key, 'names no tool');
  const ordinal = rest[1] === undefined ? undefined : positive(key, rest[1]);
  return { key, target: { by: 'tool', name, ordinal }, pointer: rest[2] ?? '', value };
}

function positive(key: string, digits: string): number {
  const number = Number(digits);
  if (number < 1) throw invalid(key, 'counts from 0; numbers count from 1');
  return number;
}
