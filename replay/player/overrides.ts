import { ReenactError } from '../../instrumentation/schema/errors';
import type { ExecutionLog } from '../../instrumentation/schema/execution-log';
import { pointerSteps } from './call-key';
import { checkSets, setText } from './set-texts';
import type { CheckedSet } from './set-texts';

/** One `--set TURN=VALUE`, ready to be applied. */
export interface Override {
  /** As written, for explanations. */
  readonly text: string;
  /** JSON Pointer into the answer; empty: the whole. */
  readonly pointer: string;
  readonly value: unknown;
  /** The value is the text of an answer rather than JSON. */
  readonly isText: boolean;
}

/** The overrides of each recorded call, by span id, and those of tools by name, recorded or not. */
export interface ResolvedOverrides {
  readonly bySpan: ReadonlyMap<string, { readonly override: Override; readonly turn: number }>;
  readonly byTool: ReadonlyMap<string, Override>;
}

/**
 * Finds the calls that `--set` texts name.
 * @throws ReenactError SET_INVALID, TURN_NOT_FOUND
 */
export function resolveOverrides(texts: readonly string[], logs: readonly ExecutionLog[]): ResolvedOverrides {
  const bySpan = new Map<string, { override: Override; turn: number }>();
  const byTool = new Map<string, Override>();
  const turns = logs.flatMap((log) => log.turns);
  for (const set of checkSets(texts, logs, process.cwd())) {
    const override = toOverride(set);
    if (set.everyCallOf !== undefined) {
      byTool.set(set.everyCallOf, override);
      continue;
    }
    // Of a call with several attempts, the last is the one that answered.
    const spanId = set.turn?.spanIds?.at(-1);
    if (set.turn === undefined || spanId === undefined)
      throw invalid(override, 'names a turn of which no call was recorded');
    bySpan.set(spanId, { override, turn: turns.indexOf(set.turn) + 1 });
  }
  return { bySpan, byTool };
}

function toOverride(set: CheckedSet): Override {
  const { pointer, isText, value } = set;
  return { text: setText(set), pointer, isText, value: isText ? value : (JSON.parse(value) as unknown) };
}

function invalid(override: Override, why: string): ReenactError {
  return new ReenactError('SET_INVALID', `--set ${override.text}: ${why}`);
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
    throw invalid(override, `${override.pointer} does not exist in the recorded answer`);
  if (Array.isArray(at) && last === '-') at.push(override.value);
  else Object.defineProperty(at, last, { value: override.value, configurable: true, enumerable: true, writable: true });
  return copy;
}
