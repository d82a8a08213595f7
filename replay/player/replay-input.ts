import { readFileSync } from 'node:fs';
import { ReenactError } from '../../instrumentation/schema/errors';
import type { ExecutionLog } from '../../instrumentation/schema/execution-log';
import { DIVERGENCE_POLICIES } from './report';
import type { DivergencePolicy, ReplayOptions } from './report';

type Env = Readonly<Record<string, string | undefined>>;

/** What a replayed process plays. */
export interface ReplayInput {
  readonly logs: ExecutionLog[];
  readonly options: ReplayOptions;
}

/**
 * The logs and options that a replayed process was given by its parent.
 * @throws ReenactError LOG_EMPTY, UNKNOWN_POLICY, USAGE
 */
export function readReplayInput(env: Env): ReplayInput {
  const file = env['REENACT_REPLAY_FILE'];
  if (file === undefined)
    throw new ReenactError('REF_NOT_FOUND', 'REENACT_MODE is replay, but nothing says what to replay');
  return { logs: readLogLines(file), options: readOptions(env) };
}

/** Logs that were written for this process alone, and checked by the writer. @throws ReenactError LOG_EMPTY */
export function readLogLines(file: string): ExecutionLog[] {
  const logs = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as ExecutionLog);
  if (logs.length === 0) throw new ReenactError('LOG_EMPTY', `${file} holds no log`);
  return logs;
}

/**
 * The options of a replay: `REENACT_REPLAY_OPTIONS`, a JSON object, and beside it for people `REENACT_ON_DIVERGENCE` and
 * `REENACT_SET` (one `TURN=VALUE` a line).
 * @throws ReenactError UNKNOWN_POLICY, USAGE
 */
export function readOptions(env: Env): ReplayOptions {
  const given = readJson(env['REENACT_REPLAY_OPTIONS'] || '{}');
  const sets = (env['REENACT_SET'] ?? '').split('\n').filter((line) => line.trim() !== '');
  const { live, fromTurn } = given;
  const onDivergence = given.onDivergence ?? env['REENACT_ON_DIVERGENCE'] ?? 'fail';
  if (!DIVERGENCE_POLICIES.includes(onDivergence as DivergencePolicy))
    throw new ReenactError('UNKNOWN_POLICY', `unknown policy ${JSON.stringify(onDivergence)}`);
  if (live !== undefined && live !== 'llm' && live !== 'tools') throw wrong('live', 'llm or tools');
  if (fromTurn !== undefined && !(Number.isInteger(fromTurn) && (fromTurn as number) >= 1))
    throw wrong('fromTurn', 'a whole number from 1');
  return {
    overrides: [...texts(given, 'overrides'), ...sets],
    onDivergence: onDivergence as DivergencePolicy,
    ignore: texts(given, 'ignore'),
    ...(live !== undefined && { live }),
    ...(fromTurn !== undefined && { fromTurn: fromTurn as number }),
    ...(given.allowWrite !== undefined && { allowWrite: texts(given, 'allowWrite') }),
    seedRun: typeof given.seedRun === 'string' ? given.seedRun : '',
  };
}

type Given = { readonly [K in keyof ReplayOptions]?: unknown };

function readJson(text: string): Given {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed;
  } catch {
    // Told below, like JSON that is no object.
  }
  throw new ReenactError('USAGE', 'REENACT_REPLAY_OPTIONS is not a JSON object', {
    hint: 'For example {"onDivergence":"recorded"}.',
  });
}

function texts(given: Given, field: 'overrides' | 'ignore' | 'allowWrite'): string[] {
  const value = given[field] ?? [];
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value as string[];
  throw wrong(field, 'a list of texts');
}

function wrong(field: string, what: string): ReenactError {
  return new ReenactError('USAGE', `"${field}" in REENACT_REPLAY_OPTIONS must be ${what}`, {
    hint: 'See docs/reference/cli.md.',
  });
}
