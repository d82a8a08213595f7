import { ReenactError } from '../../instrumentation/schema/errors';
import type { ExecutionLog } from '../../instrumentation/schema/execution-log';
import { checkSets, fromOverrides, setText } from '../player/set-texts';
import type { Overrides } from './call-overrides';
import { copy } from './recorded-answer';

interface OverrideSets {
  readonly toolOverrides?: Overrides | undefined;
  readonly llmOverrides?: Overrides | undefined;
}

/**
 * Overrides as the `--set` texts that a program of its own process is given. A function is called here, once for each
 * recorded turn that its key names.
 * @throws ReenactError SET_INVALID, TURN_NOT_FOUND
 */
export function overrideTexts(overrides: OverrideSets, logs: readonly ExecutionLog[]): string[] {
  const texts = fromOverrides({
    toolOverrides: withoutFunctions(overrides.toolOverrides ?? {}, 'tool_call', logs),
    llmOverrides: withoutFunctions(overrides.llmOverrides ?? {}, 'llm_call', logs),
  });
  return checkSets(texts, logs, process.cwd()).map(setText);
}

type TurnType = ExecutionLog['turns'][number]['type'];

function withoutFunctions(
  overrides: Overrides,
  type: TurnType,
  logs: readonly ExecutionLog[],
): Record<string, unknown> {
  const entries = Object.entries(overrides).flatMap(([key, value]): [string, unknown][] => {
    if (value instanceof Error)
      throw new ReenactError(
        'SET_INVALID',
        `override ${JSON.stringify(key)} is an Error, which cannot be passed to a command`,
      );
    return typeof value === 'function'
      ? evaluated(key, value as (recorded: unknown) => unknown, { type, logs })
      : [[key, value]];
  });
  return Object.fromEntries(entries);
}

function evaluated(
  key: string,
  value: (recorded: unknown) => unknown,
  { type, logs }: { type: TurnType; logs: readonly ExecutionLog[] },
): [string, unknown][] {
  const turns = logs.flatMap((log) => log.turns);
  const same = turns.filter((turn) => turn.type === type);
  const names = new Set(same.map((turn) => String(turn.request['name'] ?? '')));
  const text = key.replace(/^tool:/, '');
  const match = /^(\d+|llm|.*?)(?:#(\d+))?$/s.exec(text);
  const [, name = '', ordinal] = match ?? [];
  const number = /^\d+$/.test(name) && !names.has(name) ? Number(name) : undefined;
  const named =
    number !== undefined
      ? turns.slice(number - 1, number)
      : name === 'llm'
        ? same
        : same.filter((turn) => turn.request['name'] === name);
  const chosen =
    ordinal === undefined ? [...named.entries()] : [...named.entries()].slice(Number(ordinal) - 1, Number(ordinal));
  if (chosen.length === 0)
    throw new ReenactError(
      'TURN_NOT_FOUND',
      `override ${JSON.stringify(key)} is a function and names no recorded turn`,
      {
        hint: 'A function needs a recorded value; name a recorded turn, without a JSON Pointer, or give a value.',
      },
    );
  return chosen.map(([index, turn]) => {
    const recorded = copy(turn.type === 'tool_call' ? turn.response['result'] : turn.response);
    const target = number !== undefined ? key : name === 'llm' ? `llm#${index + 1}` : `tool:${name}#${index + 1}`;
    return [target, called(key, value, recorded)];
  });
}

function called(key: string, value: (recorded: unknown) => unknown, recorded: unknown): unknown {
  let result: unknown;
  try {
    result = value(recorded);
  } catch (cause) {
    throw new ReenactError('SET_INVALID', `override ${JSON.stringify(key)} threw; a command cannot be given an error`, {
      cause,
    });
  }
  if (result instanceof Promise || result === undefined)
    throw new ReenactError('SET_INVALID', `override ${JSON.stringify(key)} gives no JSON value`, {
      hint: 'For a command the function must return JSON, not a promise.',
    });
  return result;
}
