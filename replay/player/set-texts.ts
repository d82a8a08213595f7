import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ReenactError } from '../../instrumentation/schema/errors';
import type { ExecutionLog, ExecutionTurn } from '../../instrumentation/schema/execution-log';

/** A `--set` that has been checked against the logs it is for. */
export interface CheckedSet {
  readonly isLlm: boolean;
  /** Turn number, `tool:NAME#k`, `llm#k` or `tool:NAME`, with an optional JSON Pointer. */
  readonly target: string;
  /** JSON, or the plain text of a model's answer; `@FILE` read in. */
  readonly value: string;
  /** The turn meant; undefined for every call of a tool, recorded or not. */
  readonly turn: ExecutionTurn | undefined;
  /** The tool meant by a bare name. */
  readonly everyCallOf: string | undefined;
  readonly pointer: string;
  /** The value is the text of an answer, not JSON. */
  readonly isText: boolean;
}

interface Target {
  readonly everyCallOf?: string;
  /** The turns meant; undefined for every call of a tool, recorded or not. */
  readonly turn: ExecutionTurn | undefined;
  readonly isLlm: boolean;
  readonly pointer: string;
}

/**
 * Reads `--set TURN=VALUE` texts before anything runs.
 * @throws ReenactError SET_INVALID, TURN_NOT_FOUND, FILE_NOT_FOUND
 */
export function checkSets(texts: readonly string[], logs: readonly ExecutionLog[], cwd: string): CheckedSet[] {
  return texts.map((text) => {
    const at = text.indexOf('=');
    if (at <= 0) throw new ReenactError('SET_INVALID', `--set ${text} has no TURN=VALUE`);
    const target = text.slice(0, at);
    const found = findTarget(target, logs);
    if (found.turn?.inferred)
      throw new ReenactError('SET_INVALID', `${target} was inferred from the messages and runs for real in a replay`, {
        hint: 'Declare the tool in reenact.config.json, or wrap it with tool(name, fn), and record again.',
      });
    const value = readValue(text.slice(at + 1), { target, found, cwd });
    const { isLlm, turn, everyCallOf, pointer } = found;
    return {
      target,
      isLlm,
      value,
      turn,
      everyCallOf,
      pointer,
      isText: isLlm && pointer === '' && !/^[{["]/.test(value),
    };
  });
}

/** The text that the replayed process is given. */
export function setText(set: CheckedSet): string {
  return `${set.target}=${set.value}`;
}

/** Overrides of a scenario, as the programming interface names them. */
export interface Overrides {
  readonly toolOverrides?: Readonly<Record<string, unknown>>;
  readonly llmOverrides?: Readonly<Record<string, unknown>>;
}

/** Checked sets as the overrides of a scenario; empty sides are left out. */
export function toOverrides(sets: readonly CheckedSet[]): Overrides {
  const side = (isLlm: boolean): [string, unknown][] =>
    sets.filter((set) => set.isLlm === isLlm).map((set) => [set.target, jsonOrText(set.value)]);
  const [tools, models] = [side(false), side(true)];
  return {
    ...(tools.length > 0 && { toolOverrides: Object.fromEntries(tools) }),
    ...(models.length > 0 && { llmOverrides: Object.fromEntries(models) }),
  };
}

/** The overrides of a scenario as `--set` texts. A bare tool name stands for every call of it. */
export function fromOverrides(overrides: Overrides): string[] {
  const tools = Object.entries(overrides.toolOverrides ?? {}).map(
    ([key, value]) => `${/^(\d+(\/|$)|tool:|llm#)/.test(key) ? key : `tool:${key}`}=${JSON.stringify(value)}`,
  );
  const models = Object.entries(overrides.llmOverrides ?? {}).map(
    ([key, value]) =>
      `${key}=${typeof value === 'string' && value !== '' && !/^[{["@]/.test(value) && !key.includes('/') ? value : JSON.stringify(value)}`,
  );
  return [...tools, ...models];
}

function jsonOrText(value: string): unknown {
  try {
    return JSON.parse(value) as unknown;
  } catch {
    // The plain text of a model's answer.
    return value;
  }
}

function findTarget(target: string, logs: readonly ExecutionLog[]): Target {
  const numbered = /^(\d+)(\/.*)?$/s.exec(target);
  if (numbered !== null) return findByNumber(Number(numbered[1]), numbered[2] ?? '', logs);
  const model = /^llm#(\d+)(\/.*)?$/s.exec(target);
  if (model !== null)
    return findNth({ target, isLlm: true, k: Number(model[1]), pointer: model[2] ?? '' }, logs, () => true);
  const tool = /^tool:(.+)#(\d+)(\/.*)?$/s.exec(target);
  if (tool !== null)
    return findNth(
      { target, isLlm: false, k: Number(tool[2]), pointer: tool[3] ?? '' },
      logs,
      (turn) => turn.request['name'] === tool[1],
    );
  const every = /^tool:([^#]+)$/s.exec(target);
  if (every !== null) {
    const [name, pointer] = splitName(every[1] ?? '', logs);
    return { turn: undefined, isLlm: false, pointer, everyCallOf: name };
  }
  throw new ReenactError('SET_INVALID', `--set ${target}=… does not name a turn`, {
    hint: 'Name a turn by its number, tool:NAME#k, llm#k or tool:NAME, each with an optional /json/pointer.',
  });
}

function findByNumber(number: number, pointer: string, logs: readonly ExecutionLog[]): Target {
  if (logs.length > 1)
    throw new ReenactError('SET_INVALID', `turn ${number} could be of any of ${logs.length} sessions`, {
      hint: 'Replay one session, or name the turn by tool:NAME#k or llm#k.',
    });
  const turn = logs[0]?.turns[number - 1];
  if (turn === undefined)
    throw new ReenactError('TURN_NOT_FOUND', `the log has turns 1 to ${logs[0]?.turns.length ?? 0}, not ${number}`);
  return { turn, isLlm: turn.type === 'llm_call', pointer };
}

function findNth(
  wanted: { target: string; isLlm: boolean; k: number; pointer: string },
  logs: readonly ExecutionLog[],
  matches: (turn: ExecutionTurn) => boolean,
): Target {
  const type = wanted.isLlm ? 'llm_call' : 'tool_call';
  const turns = logs.flatMap((log) => log.turns).filter((turn) => turn.type === type && matches(turn));
  const turn = turns[wanted.k - 1];
  if (turn === undefined)
    throw new ReenactError(
      'TURN_NOT_FOUND',
      `${wanted.target} is not in the log, which has ${turns.length} such turns`,
    );
  return { turn, isLlm: wanted.isLlm, pointer: wanted.pointer };
}

/** A bare tool name and the pointer behind it. A tool's own name may hold a slash, so names in the log go first. */
function splitName(text: string, logs: readonly ExecutionLog[]): [name: string, pointer: string] {
  const names = logs.flatMap((log) => log.turns).map((turn) => String(turn.request['name'] ?? ''));
  const known = names
    .filter((name) => name !== '' && (text === name || text.startsWith(`${name}/`)))
    .sort((a, b) => b.length - a.length)[0];
  const at = known?.length ?? text.indexOf('/');
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at)];
}

interface ValueContext {
  readonly target: string;
  readonly found: Target;
  readonly cwd: string;
}

function readValue(text: string, context: ValueContext): string {
  const value = text.startsWith('@') ? readValueFile(text.slice(1), context.cwd) : text;
  const isPlainAnswer = context.found.isLlm && context.found.pointer === '' && !/^[{["@]/.test(value);
  if (isPlainAnswer && value !== '') return value;
  try {
    JSON.parse(value);
  } catch (cause) {
    throw new ReenactError(
      'SET_INVALID',
      `the value of --set ${context.target} is not JSON: ${(cause as Error).message}`,
      {
        cause,
      },
    );
  }
  return value;
}

function readValueFile(name: string, cwd: string): string {
  const path = resolve(cwd, name);
  try {
    return readFileSync(path, 'utf8').trimEnd();
  } catch (cause) {
    throw new ReenactError('FILE_NOT_FOUND', `${path}, named by --set, cannot be read`, { cause });
  }
}
