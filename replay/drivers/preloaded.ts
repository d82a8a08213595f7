import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Config } from '../../instrumentation/config';
import { CLAIMS_VARIABLE } from '../../instrumentation/process-claim';
import { ERRORS, ReenactError } from '../../instrumentation/schema/errors';
import type { ErrorCode } from '../../instrumentation/schema/errors';
import { explainDivergences } from '../cli/divergence-text';
import { oneLine, paletteFor } from '../cli/terminal-text';
import { isWholeRun } from '../log/whole-run';
import { mergeRecordings } from '../log/recording-of-log';
import { readLogLines, readOptions } from '../player/replay-input';
import type { ReplayInput } from '../player/replay-input';
import type { ProcessReport, ReplayOptions } from '../player/report';
import { checkSets, setText } from '../player/set-texts';
import { placeholderEnv } from './placeholder-env';
import { readReports, throwFatal } from './process-reports';
import { countedCalls } from '../player/counted-calls';
import { buildReplayDocument, replayExitCode, summaryLine } from './replay-document';
import type { ReplayFacts } from './replay-document';

type Env = Record<string, string | undefined>;

/** A replay that nobody but the preload drives: what `reenact replay` does around the program is done in it. */
export interface PreloadedReplay {
  readonly input: ReplayInput;
  /**
   * Ends the replay at `exit`: explains the divergences, writes the summary line, and answers the exit code.
   * @param own the report of this process, which is the first of the replay
   */
  end(own: ProcessReport, exitCode: number): number;
}

/** A backend that does not answer must not hold the program for ever. */
const RESOLVE_TIMEOUT_MS = 60_000;

/**
 * Prepares the replay of `REENACT_REPLAY` in the process that the preload was loaded into. Children of the program find
 * their input and leave their reports by the variables that are set in `env`.
 * @throws ReenactError those of `reenact replay`
 */
export function prepareReplay(config: Config, env: Env = process.env): PreloadedReplay {
  const ref = config.replayRef;
  if (ref === undefined)
    throw new ReenactError('REF_NOT_FOUND', 'REENACT_MODE is replay, but nothing says what to replay', {
      hint: 'Set REENACT_REPLAY to a session id, a run id, a log file or last.',
    });
  const workspace = mkdtempSync(join(tmpdir(), 'reenact-replay-'));
  try {
    const file = join(workspace, 'replay.jsonl');
    pullInto(file, ref, { config, env });
    const logs = readLogLines(file);
    const recording = mergeRecordings(logs);
    if (countedCalls(recording.calls).length === 0) throw new ReenactError('LOG_HAS_NO_CALLS', `${ref} holds no call`);
    const given = readOptions(env);
    const overrides = checkSets(given.overrides, logs, process.cwd()).map(setText);
    const options = { ...given, overrides, seedRun: recording.runId };
    const reports = join(workspace, 'reports');
    const claims = join(workspace, 'claims');
    for (const folder of [reports, claims]) mkdirSync(folder, { mode: 0o700 });
    Object.assign(env, placeholderEnv(recording.processes, env), {
      REENACT_REPLAY_FILE: file,
      REENACT_REPLAY_OPTIONS: JSON.stringify(options),
      REENACT_REPORT_DIR: reports,
      [CLAIMS_VARIABLE]: claims,
    });
    const end = (own: ProcessReport, exitCode: number): number => {
      try {
        const all = [own, ...readReports(reports)];
        return conclude({ ref, logs, recording, exitCode, reports: all, options, env });
      } finally {
        rmSync(workspace, { recursive: true, force: true });
      }
    };
    return { input: { logs, options }, end };
  } catch (error) {
    rmSync(workspace, { recursive: true, force: true });
    throw error;
  }
}

/**
 * Reading a store or a backend is asynchronous and the program must not begin before: another process does it, without
 * the preload and without what the program's own environment loads.
 */
function pullInto(file: string, ref: string, { config, env }: { config: Config; env: Env }): void {
  const command = resolve(__dirname, '../../../bin/reenact.js');
  const source = env['REENACT_FROM'] ? ['--from', env['REENACT_FROM']] : [];
  const result = spawnSync(process.execPath, [command, 'pull', ref, '-o', file, ...source], {
    encoding: 'utf8',
    env: { ...withoutOurs(env), REENACT_DIR: config.store },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: RESOLVE_TIMEOUT_MS,
    windowsHide: true,
  });
  if (result.status !== 0) throw pullFailure(ref, result);
}

function withoutOurs(env: Env): Env {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => name !== 'NODE_OPTIONS' && !name.startsWith('REENACT_')),
  );
}

function pullFailure(
  ref: string,
  { stderr, status, error }: { stderr: string | null; status: number | null; error?: Error },
): ReenactError {
  const [, code = '', message = '', hint = ''] = /^reenact: ([A-Z_]+) (.*)\n(.*)\n/m.exec(stderr ?? '') ?? [];
  if (Object.hasOwn(ERRORS, code)) return new ReenactError(code as ErrorCode, message, { hint });
  const why = error?.message ?? `the reader ended with ${String(status)}`;
  return new ReenactError('INTERNAL', `${ref} could not be read: ${why}`, { cause: error });
}

interface Conclusion extends Omit<ReplayFacts, 'runId' | 'stdoutComparable' | 'replayLogs'> {
  readonly options: ReplayOptions;
  readonly env: Env;
}

/** Writes what the command writes, and answers the exit code. */
function conclude({ options, env, ...facts }: Conclusion): number {
  const { stderr } = process;
  const [own] = facts.reports;
  try {
    throwFatal(facts.reports, process.argv, facts.exitCode);
  } catch (error) {
    stderr.write(failureText(error));
    return 2;
  }
  const document = buildReplayDocument({
    ...facts,
    runId: own?.runId ?? '',
    stdoutComparable: isWholeRun(facts.recording),
    // What this process recorded of itself stands in the store; nobody reads it here.
    replayLogs: [],
  });
  stderr.write(`${explainDivergences(document, paletteFor(stderr, env))}${oneLine(summaryLine(document))}\n`);
  return replayExitCode(document, options) === 0 ? facts.exitCode : 1;
}

/** The coded line and the line of what to do. */
export function failureText(error: unknown): string {
  if (error instanceof ReenactError)
    return `reenact: ${error.code} ${oneLine(error.message)}\n${oneLine(error.hint)}\n`;
  return `reenact: INTERNAL ${oneLine(String(error))}\n${ERRORS.INTERNAL}\n`;
}
