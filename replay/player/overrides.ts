import { ReenactError } from '../../instrumentation/schema/errors';
import type { ExecutionLog } from '../../instrumentation/schema/execution-log';
import { pointerSteps } from './call-key';

/** One `--set TURN=VALUE`. */
export interface Override {
  /** As written, for explanations. */
  readonly text: string;
  readonly target:
    | { readonly by: 'turn'; readonly turn: number }
    | { readonly by: 'tool'; readonly name: string; readonly ordinal: number | undefined }
    | { readonly by: 'llm'; readonly ordinal: number };
  /** JSON Pointer into the answer; empty: the whole. */
  readonly pointer: string;
  readonly value: unknown;
  /** The value was plain text rather than JSON. */
  readonly isText: boolean;
}

function invalid(text: string, why: string, cause?: unknown): ReenactError {
  return new ReenactError('SET_INVALID', `--set ${text}: ${why}`, { cause });
}

/**
 * Reads one `--set` text (DESIGN 9): `3=…`, `tool:NAME#k/pointer=…`, `llm#k=…`, `tool:NAME=…`.
 * @throws ReenactError SET_INVALID
 */
export function parseOverride(text: string): Override {
  const match = /^(?:(\d+)|tool:([^#/=]+)(?:#(\d+))?|llm#(\d+))(\/[^=]*)?=([\s\S]*)$/.exec(text);
  if (match === null) throw invalid(text, 'is not TURN=VALUE');
  const [, turn, tool, toolOrdinal, llmOrdinal, pointer = '', value = ''] = match;
  const ordinal = Number(turn ?? toolOrdinal ?? llmOrdinal ?? 1);
  if (ordinal < 1) throw invalid(text, 'numbers count from 1');
  const target: Override['target'] =
    turn !== undefined
      ? { by: 'turn', turn: ordinal }
      : tool !== undefined
        ? { by: 'tool', name: tool, ordinal: toolOrdinal === undefined ? undefined : ordinal }
        : { by: 'llm', ordinal };
  return { text, target, pointer, ...readValue(text, value, target.by) };
}

function readValue(text: string, value: string, by: Override['target']['by']): { value: unknown; isText: boolean } {
  // DESIGN 9: for an LLM turn, whatever does not begin with { [ " is plain text.
  if (by !== 'tool' && !/^\s*[[{"]/.test(value)) {
    if (by === 'llm') return { value, isText: true };
    try {
      return { value: JSON.parse(value) as unknown, isText: false };
    } catch {
      // A turn number may be of either kind; text that is no JSON can only be the text of an answer.
      return { value, isText: true };
    }
  }
  try {
    return { value: JSON.parse(value) as unknown, isText: false };
  } catch (cause) {
    throw invalid(text, `VALUE is not JSON: ${(cause as Error).message}`, cause);
  }
}

/** The overrides of each recorded call, by span id, and those of tools by name, recorded or not. */
export interface ResolvedOverrides {
  readonly bySpan: ReadonlyMap<string, { readonly override: Override; readonly turn: number }>;
  readonly byTool: ReadonlyMap<string, Override>;
}

/**
 * Finds the calls that overrides name.
 * @throws ReenactError TURN_NOT_FOUND when a numbered turn does not exist, SET_INVALID when it cannot be told
 */
export function resolveOverrides(overrides: readonly Override[], logs: readonly ExecutionLog[]): ResolvedOverrides {
  const turns = logs.flatMap((log) => log.turns.map((turn, index) => ({ turn, number: index + 1 })));
  const bySpan = new Map<string, { override: Override; turn: number }>();
  const byTool = new Map<string, Override>();
  for (const override of overrides) {
    const { target } = override;
    if (target.by === 'tool' && target.ordinal === undefined) {
      byTool.set(target.name, override);
      continue;
    }
    if (target.by === 'turn' && logs.length > 1)
      throw invalid(override.text, 'turn numbers need one log; several are replayed');
    const found = turns.filter(({ turn, number }) => {
      if (target.by === 'turn') return number === target.turn;
      if (target.by === 'llm') return turn.type === 'llm_call';
      return turn.type === 'tool_call' && turn.request['name'] === target.name;
    })[target.by === 'turn' ? 0 : (target.ordinal ?? 1) - 1];
    if (found === undefined)
      throw new ReenactError('TURN_NOT_FOUND', `--set ${override.text}: the log has no such turn`);
    // Of a call with several attempts, the last is the one that answered.
    const spanId = found.turn.spanIds?.at(-1);
    if (spanId === undefined)
      throw invalid(
        override.text,
        `turn ${found.number} was inferred from the messages and runs for real; it cannot be set`,
      );
    bySpan.set(spanId, { override, turn: found.number });
  }
  return { bySpan, byTool };
}

/**
 * The recorded answer with the override applied. Never changes its input.
 * @throws ReenactError SET_INVALID when the pointer does not exist in the answer
 */
export function applyOverride(override: Override, recorded: unknown): unknown {
  if (override.pointer === '') return override.value;
  const copy = recorded === undefined ? undefined : (JSON.parse(JSON.stringify(recorded)) as unknown);
  const steps = pointerSteps(override.pointer);
  const last = steps.pop() ?? '';
  let at: unknown = copy;
  for (const step of steps)
    at =
      typeof at === 'object' && at !== null && Object.hasOwn(at, step)
        ? (at as Record<string, unknown>)[step]
        : undefined;
  if (typeof at !== 'object' || at === null)
    throw invalid(override.text, `${override.pointer} does not exist in the recorded answer`);
  if (Array.isArray(at) && last === '-') at.push(override.value);
  else Object.defineProperty(at, last, { value: override.value, configurable: true, enumerable: true, writable: true });
  return copy;
}
