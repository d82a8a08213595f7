import { mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../../instrumentation/config';
import type { Config } from '../../../instrumentation/config';
import { CLAIMS_VARIABLE } from '../../../instrumentation/process-claim';
import { ReenactError } from '../../../instrumentation/schema/errors';
import { readRun } from '../../../exporter/local-store';
import { sendWaiting } from '../../../exporter/send-spool';
import type { Recording } from '../../../instrumentation/schema/records';
import { newRunId } from '../../drivers/run-id';
import { runProgram, withPreload } from '../../drivers/run-program';
import { buildLogs } from '../../log/build-log';
import { listRow } from '../../log/list';
import type { ListRow } from '../../log/list';
import type { CommandDefinition } from '../command';
import { textOption } from '../command';
import { plural } from '../conversation/words';

/** The document of `reenact record`. */
interface RecordDocument {
  readonly runId: string;
  readonly sessions: readonly ListRow[];
  readonly store: string;
  readonly endpoint: string | null;
  /** Records that could not be kept. */
  readonly lost: number;
}

/** Longest time the command waits for the endpoint after the program has ended. */
const SEND_DEADLINE_MS = 5_000;

/** `reenact record -- CMD`: runs a program and records it; the exit code is the program's own. */
export const record: CommandDefinition = {
  name: 'record',
  usage: '[--session ID] -- CMD…',
  summary: 'run a program and record its calls',
  configure: (command) => {
    command.option('--session <id>', 'session id of what happens outside any session of the program');
  },
  run: async (invocation) => {
    const { command, output, env, cwd } = invocation;
    if (command === undefined || command.length === 0)
      throw new ReenactError('COMMAND_MISSING', 'record needs a command');
    const config = readConfig(env, cwd);
    const runId = newRunId();
    const session = textOption(invocation, 'session');
    const claims = mkdtempSync(join(tmpdir(), 'reenact-claims-'));
    const end = await runProgram({
      command,
      cwd,
      output: output.json ? 'to-stderr' : 'inherit',
      env: {
        NODE_OPTIONS: withPreload(env['NODE_OPTIONS']),
        REENACT_MODE: 'record',
        REENACT_RUN_ID: runId,
        REENACT_DIR: config.store,
        REENACT_PROCESS: undefined,
        REENACT_COMMAND: JSON.stringify({ argv: command, cwd }),
        [CLAIMS_VARIABLE]: claims,
        REENACT_REPLAY: undefined,
        REENACT_REPLAY_FILE: undefined,
        ...(session !== undefined && { REENACT_SESSION: session }),
      },
    }).finally(() => rmSync(claims, { recursive: true, force: true }));
    const document = await afterRun(config, runId);
    output.result(document, '');
    if (output.options.stderr.isTTY === true || document.lost > 0) output.note(describe(document));
    return end.signal === null ? end.exitCode : 128 + constants.signals[end.signal];
  },
};

async function afterRun(config: Config, runId: string): Promise<RecordDocument> {
  const sent = config.otlp.url === undefined ? 0 : (await sendWaiting(config, SEND_DEADLINE_MS)).lost;
  const recording = await readSafely(config.store, runId);
  const failures = (recording?.exits ?? []).flatMap((exit) => Object.values(exit.failures ?? {}));
  return {
    runId,
    sessions: recording === undefined ? [] : buildLogs(recording).map(listRow),
    store: config.store,
    endpoint: config.otlp.url ?? null,
    lost: failures.reduce((sum, count) => sum + count, sent),
  };
}

/** A program that made no call leaves nothing behind. */
async function readSafely(store: string, runId: string): Promise<Recording | undefined> {
  try {
    return await readRun(store, runId);
  } catch (error) {
    if (error instanceof ReenactError && error.code === 'REF_NOT_FOUND') return undefined;
    throw error;
  }
}

function describe(document: RecordDocument): string {
  const turns = document.sessions.reduce((sum, row) => sum + row.turns, 0);
  const lost = document.lost > 0 ? `, ${plural(document.lost, 'record')} lost (see reenact doctor)` : '';
  if (document.sessions.length === 0) return `reenact: run ${document.runId} made no call${lost}`;
  return `reenact: recorded ${plural(document.sessions.length, 'session')}, ${plural(turns, 'turn')}, run ${document.runId}${lost}`;
}
