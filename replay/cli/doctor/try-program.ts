import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readRun } from '../../../exporter/local-store';
import { ReenactError } from '../../../instrumentation/schema/errors';
import type { CallRecord, Recording } from '../../../instrumentation/schema/records';
import { newRunId } from '../../drivers/run-id';
import { runProgram, withPreload } from '../../drivers/run-program';
import { buildLogs } from '../../log/build-log';
import type { Invocation } from '../command';
import { plural } from '../conversation/words';
import type { Check } from './checks';

/** Runs the program once, recorded into a store that is thrown away, and says what was seen of it. */
export async function tryProgram(command: readonly string[], invocation: Invocation): Promise<Check[]> {
  const store = mkdtempSync(join(tmpdir(), 'reenact-doctor-'));
  const runId = newRunId();
  try {
    const end = await runProgram({
      command,
      cwd: invocation.cwd,
      // The report stands on stdout, so the program's own output goes beside it.
      output: 'to-stderr',
      env: {
        NODE_OPTIONS: withPreload(invocation.env['NODE_OPTIONS']),
        REENACT_MODE: 'record',
        REENACT_RUN_ID: runId,
        REENACT_DIR: store,
        REENACT_PROCESS: undefined,
        OTEL_TRACES_EXPORTER: 'none',
      },
    });
    const program: Check = {
      name: 'program',
      ok: true,
      detail: `exit code ${end.exitCode}`,
      hint: end.exitCode === 0 ? '' : 'The program did not end well; what follows is of the part that ran.',
    };
    const recording = await readSafely(store, runId);
    return recording === undefined ? [program, nothingSeen()] : [program, ...describe(recording)];
  } finally {
    rmSync(store, { recursive: true, force: true });
  }
}

async function readSafely(store: string, runId: string): Promise<Recording | undefined> {
  try {
    return await readRun(store, runId);
  } catch (error) {
    if (error instanceof ReenactError && error.code === 'REF_NOT_FOUND') return undefined;
    throw error;
  }
}

function nothingSeen(): Check {
  return {
    name: 'calls',
    ok: false,
    detail: 'no call was seen',
    hint: 'Does the program run on Node, keep NODE_OPTIONS, and make its calls from this process or its Node children?',
  };
}

function describe(recording: Recording): Check[] {
  const { calls } = recording;
  if (calls.length === 0) return [nothingSeen()];
  const count = (kind: CallRecord['kind']): number => calls.filter((call) => call.kind === kind).length;
  const logs = buildLogs(recording);
  const inferred = logs.flatMap((log) => log.turns).filter((turn) => turn.inferred);
  const gaps = logs.flatMap((log) => log.gaps ?? []);
  const tools = [...new Set(inferred.map((turn) => String(turn.request['name'])))];
  return [
    {
      name: 'calls',
      ok: count('llm') > 0,
      detail: [
        `${count('llm')} LLM, ${count('http')} other HTTP, ${plural(count('tool'), 'tool call')}, ${plural(count('observation'), 'observation')}`,
        `in ${plural(logs.length, 'session')} of ${plural(recording.processes.length, 'process')}`,
        ...otherHosts(calls),
      ].join('\n'),
      hint: count('llm') > 0 ? '' : 'No provider was recognised among the HTTP calls; they replay all the same.',
    },
    {
      name: 'tools',
      ok: true,
      detail:
        tools.length === 0
          ? 'every tool call of the model was seen as a call of a function'
          : `seen in the messages only, so they run for real in a replay: ${tools.join(', ')}`,
      hint: tools.length === 0 ? '' : 'Declare them in reenact.config.json, or wrap them with tool(name, fn).',
    },
    {
      name: 'gaps',
      ok: gaps.length === 0,
      detail:
        gaps.length === 0
          ? 'none'
          : gaps
              .slice(0, 10)
              .map((gap) => `${gap.code} ${gap.message}`)
              .join('\n'),
      hint: gaps.length === 0 ? '' : 'A replay that needs what is missing diverges there.',
    },
  ];
}

function otherHosts(calls: readonly CallRecord[]): string[] {
  const hosts = calls.flatMap((call) => (call.kind === 'http' ? [hostOf(call.request.url)] : []));
  const unique = [...new Set(hosts)];
  return unique.length === 0 ? [] : [`HTTP without a known provider: ${unique.slice(0, 10).join(', ')}`];
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}
