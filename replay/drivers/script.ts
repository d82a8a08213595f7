import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { CLAIMS_VARIABLE } from '../../instrumentation/process-claim';
import { ReenactError } from '../../instrumentation/schema/errors';
import type { ExecutionLog } from '../../instrumentation/schema/execution-log';
import type { Recording } from '../../instrumentation/schema/records';
import { writeLogs } from '../log/log-file';
import { resolveRef } from '../log/resolve-ref';
import { mergeRecordings } from '../log/recording-of-log';
import type { DivergencePolicy, ReplayDocument, ReplayOptions } from '../player/report';
import { isWholeRun } from '../log/whole-run';
import { placeholderEnv } from './placeholder-env';
import { readReports, throwFatal } from './process-reports';
import { countedCalls } from '../player/counted-calls';
import { buildReplayDocument } from './replay-document';
import { newRunId } from './run-id';
import { runProgram, withPreload } from './run-program';
import type { ProgramOutput } from './run-program';

export interface ReplayCommandOptions {
  readonly logs: readonly ExecutionLog[];
  /** Program and arguments, run without a shell. */
  readonly command: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** As the user named it. */
  readonly ref?: string;
  /** `TURN=VALUE` texts, `@FILE` already read in. */
  readonly overrides?: readonly string[];
  readonly onDivergence?: DivergencePolicy;
  readonly ignore?: readonly string[];
  readonly live?: 'llm' | 'tools';
  readonly fromTurn?: number;
  /** Absolute paths that the program may write to. */
  readonly allowWrite?: readonly string[];
  /** Local store the replay is recorded in; a temporary one, removed at the end, when absent. */
  readonly store?: string;
  readonly output?: ProgramOutput;
  readonly onOutput?: (piece: Buffer) => void;
  readonly timeoutMs?: number;
}

/**
 * Runs a command offline against recorded logs and reports how it went.
 * @throws ReenactError LOG_HAS_NO_CALLS, COMMAND_NOT_FOUND, REPLAY_PROGRAM_MISSING, REPLAY_STUCK, or what the replayed
 * process could not go on with
 */
export async function replayCommand(options: ReplayCommandOptions): Promise<ReplayDocument> {
  const recording = mergeRecordings([...options.logs]);
  if (countedCalls(recording.calls).length === 0)
    throw new ReenactError('LOG_HAS_NO_CALLS', `${options.ref ?? 'the log'} holds no call`);
  const runId = newRunId();
  const workspace = mkdtempSync(join(tmpdir(), 'reenact-replay-'));
  try {
    const store = resolve(options.store ?? join(workspace, 'store'));
    const { variables, reportDir } = await prepare({ ...options, workspace, store, runId, recording });
    const end = await runProgram({
      command: options.command,
      cwd: resolve(options.cwd ?? '.'),
      env: variables,
      output: options.output ?? 'inherit',
      ...(options.onOutput && { onOutput: options.onOutput }),
      ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
    });
    const reports = readReports(reportDir);
    if (end.timedOut)
      throw new ReenactError('REPLAY_STUCK', `the program did not end within ${options.timeoutMs ?? 0} ms`);
    throwFatal(reports, options.command, end.exitCode);
    return buildReplayDocument({
      ref: options.ref ?? options.logs[0]?.sessionId ?? '',
      runId,
      logs: options.logs,
      recording,
      reports,
      exitCode: end.exitCode,
      stdoutComparable: isWholeRun(recording),
      replayLogs: await readBack(runId, store),
    });
  } finally {
    rmSync(workspace, { recursive: true, force: true });
  }
}

interface Preparation extends ReplayCommandOptions {
  readonly workspace: string;
  readonly store: string;
  readonly runId: string;
  readonly recording: Recording;
}

/** Writes what the replayed process reads and names it in the variables of its environment. */
async function prepare(
  options: Preparation,
): Promise<{ variables: Record<string, string | undefined>; reportDir: string }> {
  const file = join(options.workspace, 'replay.jsonl');
  await writeLogs(file, options.logs);
  const reportDir = join(options.workspace, 'reports');
  const claims = join(options.workspace, 'claims');
  for (const folder of [reportDir, claims]) mkdirSync(folder, { mode: 0o700 });
  const replayOptions: ReplayOptions = {
    overrides: [...(options.overrides ?? [])],
    onDivergence: options.onDivergence ?? 'fail',
    ignore: [...(options.ignore ?? [])],
    ...(options.live && { live: options.live }),
    ...(options.fromTurn !== undefined && { fromTurn: options.fromTurn }),
    ...(options.allowWrite !== undefined && { allowWrite: [...options.allowWrite] }),
    seedRun: options.recording.runId,
  };
  const given = { ...process.env, ...options.env };
  return {
    reportDir,
    variables: {
      ...placeholderEnv(options.recording.processes, given),
      ...options.env,
      NODE_OPTIONS: withPreload(given['NODE_OPTIONS']),
      REENACT_MODE: 'replay',
      // Names what is replayed, so that the log of the replay says so; the file below is what is played.
      REENACT_REPLAY: options.recording.runId || options.ref || 'log',
      REENACT_REPLAY_FILE: file,
      REENACT_REPLAY_OPTIONS: JSON.stringify(replayOptions),
      REENACT_REPORT_DIR: reportDir,
      REENACT_RUN_ID: options.runId,
      REENACT_DIR: options.store,
      REENACT_PROCESS: undefined,
      REENACT_COMMAND: undefined,
      [CLAIMS_VARIABLE]: claims,
    },
  };
}

async function readBack(runId: string, store: string): Promise<ExecutionLog[]> {
  try {
    return (await resolveRef(runId, { store })).logs;
  } catch (error) {
    // A program that made no call at all leaves no log of its own; the document then says so by `unused`.
    if (error instanceof ReenactError && ['REF_NOT_FOUND', 'LOG_HAS_NO_CALLS'].includes(error.code)) return [];
    throw error;
  }
}
