import { resolve } from 'node:path';
import type { Command } from 'commander';
import { ReenactError } from '../../instrumentation/schema/errors';
import type { ExecutionLog } from '../../instrumentation/schema/execution-log';
import type { ProcessRecord } from '../../instrumentation/schema/records';
import type { ReplayCommandOptions } from '../drivers/script';
import { mergeRecordings } from '../log/recording-of-log';
import { DIVERGENCE_POLICIES } from '../player/report';
import type { DivergencePolicy } from '../player/report';
import { collect, listOption, textOption } from './command';
import type { Invocation } from './command';
import { checkSets, setText } from '../player/set-texts';
import { addSourceOption, resolveLogs, storeOf } from './source-options';
import type { Resolved } from './source-options';

/** Adds the options that `replay` and `verify` share. */
export function addReplayOptions(command: Command): Command {
  return addSourceOption(command)
    .option('--set <turn=value>', 'answer a turn with another value; may repeat', collect)
    .option('--on-divergence <policy>', `what a call gets that no recording answers: ${DIVERGENCE_POLICIES.join(', ')}`)
    .option('--ignore <pointer>', 'part of request bodies that does not count; may repeat', collect)
    .option('--live <what>', 'make calls of one kind for real: llm or tools')
    .option('--from-turn <n>', 'go live from this turn on')
    .option('--allow-write <path>', 'file or folder that the program may write to; may repeat', collect)
    .option('--trust', 'let a log that was not recorded here decide which real tools are called');
}

/** What a replay runs, with the policy that its exit code depends on. */
export type PlannedReplay = ReplayCommandOptions & {
  readonly overrides: readonly string[];
  readonly onDivergence: DivergencePolicy;
};

/**
 * Reads the options and finds logs and command.
 * @throws ReenactError UNKNOWN_POLICY, USAGE, SET_INVALID, TURN_NOT_FOUND, COMMAND_NOT_TRUSTED, COMMAND_MISSING, …
 */
export async function planReplay(invocation: Invocation, ref: string): Promise<PlannedReplay> {
  const onDivergence = readPolicy(textOption(invocation, 'onDivergence'));
  const live = readLive(textOption(invocation, 'live'));
  const fromTurn = readCount(invocation, 'fromTurn', '--from-turn');
  const resolved = await resolveLogs(invocation, ref);
  checkFromTurn(fromTurn, resolved.logs);
  if (live === 'tools' && resolved.origin !== 'store' && invocation.options['trust'] !== true)
    throw new ReenactError('COMMAND_NOT_TRUSTED', 'with --live tools the answers in this log choose which tools run', {
      hint: 'Add --trust if you know where the log comes from.',
    });
  const overrides = checkSets(listOption(invocation, 'set'), resolved.logs, invocation.cwd).map(setText);
  const program = chooseCommand(invocation, ref, resolved);
  return {
    ref,
    logs: resolved.logs,
    ...program,
    overrides,
    onDivergence,
    ignore: readPointers(listOption(invocation, 'ignore')),
    allowWrite: listOption(invocation, 'allowWrite').map((path) => resolve(invocation.cwd, path)),
    ...(live !== undefined && { live }),
    ...(fromTurn !== undefined && { fromTurn }),
    store: storeOf(invocation),
    output: invocation.output.json ? 'to-stderr' : 'inherit',
  };
}

/** @throws ReenactError TURN_NOT_FOUND */
function checkFromTurn(fromTurn: number | undefined, logs: readonly ExecutionLog[]): void {
  const most = Math.max(...logs.map((log) => log.turns.length));
  if (fromTurn !== undefined && fromTurn > most)
    throw new ReenactError(
      'TURN_NOT_FOUND',
      `--from-turn ${fromTurn}: the recording has ${most} ${most === 1 ? 'turn' : 'turns'}`,
    );
}

/** @throws ReenactError UNKNOWN_POLICY */
export function readPolicy(text: string | undefined): DivergencePolicy {
  const policy = DIVERGENCE_POLICIES.find((candidate) => candidate === (text ?? 'fail'));
  if (policy !== undefined) return policy;
  throw new ReenactError('UNKNOWN_POLICY', `there is no policy ${JSON.stringify(text)}`);
}

function readLive(text: string | undefined): 'llm' | 'tools' | undefined {
  if (text === undefined || text === 'llm' || text === 'tools') return text;
  throw new ReenactError('USAGE', `--live takes llm or tools, not ${JSON.stringify(text)}`);
}

/** A whole number from 1. @throws ReenactError USAGE */
export function readCount(invocation: Invocation, option: string, flag: string): number | undefined {
  const text = textOption(invocation, option);
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new ReenactError('USAGE', `${flag} takes a whole number from 1, not ${JSON.stringify(text)}`);
}

function readPointers(pointers: readonly string[]): readonly string[] {
  const bad = pointers.find((pointer) => !pointer.startsWith('/'));
  if (bad === undefined) return pointers;
  throw new ReenactError('USAGE', `--ignore takes a JSON Pointer such as /metadata/now, not ${JSON.stringify(bad)}`);
}

/** The command given after `--`, else the recorded one, which only the local store is trusted for. */
function chooseCommand(
  invocation: Invocation,
  ref: string,
  resolved: Resolved,
): { command: readonly string[]; cwd: string } {
  if (invocation.command !== undefined && invocation.command.length > 0)
    return { command: invocation.command, cwd: invocation.cwd };
  const recorded = recordedCommand(resolved.logs);
  if (resolved.origin === 'store' && recorded !== undefined) return recorded;
  if (recorded === undefined) throw new ReenactError('COMMAND_MISSING', `${ref} names no command that could be run`);
  throw new ReenactError(
    'COMMAND_NOT_TRUSTED',
    `${ref} was not recorded in this store; it was recorded with: ${recorded.command.join(' ')}`,
  );
}

/** What `reenact record` ran, else the command and working directory of the run's first process. */
export function recordedCommand(
  logs: readonly ExecutionLog[],
): { command: readonly string[]; cwd: string } | undefined {
  const { processes } = mergeRecordings([...logs]);
  const command = processes.find((process) => process.command !== undefined)?.command;
  if (isCommand(command)) return { command: command.argv, cwd: command.cwd };
  const first = processes.find((process) => process.processPath === '0');
  const [node, ...args] = first?.argv ?? [];
  if (first === undefined || node === undefined) return undefined;
  return { command: [node, ...withoutPreload(first.execArgv), ...args], cwd: first.cwd };
}

/** The fields of a stored record are not checked so deep. */
function isCommand(command: ProcessRecord['command']): command is { argv: readonly string[]; cwd: string } {
  const { argv, cwd }: { argv?: unknown; cwd?: unknown } = command ?? {};
  return Array.isArray(argv) && argv.length > 0 && argv.every((a) => typeof a === 'string') && typeof cwd === 'string';
}

/** Node's own flags without our preload, which the replay brings itself. */
function withoutPreload(execArgv: readonly string[]): string[] {
  return execArgv.filter((flag, index) => {
    const isOurs = (text: string | undefined): boolean =>
      /(^|[/=])reenact\/register$|instrumentation\/register\.js$/.test(text ?? '');
    const takesNext = ['--require', '-r', '--import'].includes(flag) && isOurs(execArgv[index + 1]);
    return !takesNext && !isOurs(flag);
  });
}
