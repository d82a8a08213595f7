import { createRedactor } from '../../exporter/redact';
import { readConfig } from '../../instrumentation/config';
import { originals } from '../../instrumentation/originals';
import { runtimeOfRealm, activeRuntime } from '../../instrumentation/runtime';
import { ReenactError } from '../../instrumentation/schema/errors';
import type { ExecutionLog } from '../../instrumentation/schema/execution-log';
import type { CallRecord } from '../../instrumentation/schema/records';
import { buildLogs } from '../log/build-log';
import { mergeRecordings } from '../log/recording-of-log';
import type { FunctionCallRecord } from '../player/recorded-calls';
import type { DivergencePolicy, ReplayDocument, ReplayOptions } from '../player/report';
import { refuseDeclared, refuseLoadedBefore } from './function-declared';
import { FunctionProcess } from './function-process';
import { partOfProcess, placeOf } from './function-place';
import { oneAtATime } from './one-at-a-time';
import { countedCalls } from '../player/counted-calls';
import { buildReplayDocument } from './replay-document';

export interface FunctionReplayOptions {
  readonly logs: readonly ExecutionLog[];
  /** As the user named it. */
  readonly ref?: string;
  /** `TURN=VALUE` texts. */
  readonly overrides?: readonly string[];
  readonly onDivergence?: DivergencePolicy;
  readonly ignore?: readonly string[];
  /** The function is given up after this real time; 60 s without it. */
  readonly timeoutMs?: number;
  /** The function begins the recorded session itself, after calls or reads of its own. */
  readonly beginsSession?: boolean;
}

/** What came of a function, and the document of `reenact replay`. */
export interface FunctionReplay<T> {
  readonly value?: T;
  /** What it threw. */
  readonly error?: unknown;
  readonly report: ReplayDocument;
}

const DEFAULT_TIMEOUT_MS = 60_000;

/**
 * Runs a function of this process under replay: its calls are answered from the logs, its time and randomness are the
 * recorded ones. All other code of the process keeps the real ones. Replays run one after another.
 * @throws ReenactError LOG_HAS_NO_CALLS, REPLAY_STUCK, USAGE, DECLARED_NOT_REACHED, SET_INVALID, TURN_NOT_FOUND
 */
export function replayFunction<T>(fn: () => T, options: FunctionReplayOptions): Promise<FunctionReplay<Awaited<T>>> {
  return oneAtATime(() => run(fn, options));
}

async function run<T>(fn: () => T, options: FunctionReplayOptions): Promise<FunctionReplay<Awaited<T>>> {
  const outer = activeRuntime() ?? runtimeOfRealm();
  if (outer?.recorder.options.correlator !== undefined)
    throw new ReenactError('USAGE', 'this process is itself replayed, so no function can be replayed in it', {
      hint: 'Unset REENACT_MODE, or replay a { command }.',
    });
  const { logs } = options;
  const ref = options.ref ?? logs[0]?.sessionId ?? '';
  const whole = mergeRecordings([...logs]);
  const place = placeOf(whole, logs, options.beginsSession === true);
  const recording = partOfProcess(whole, place.processPath);
  const calls = countedCalls(recording.calls);
  if (calls.length === 0) throw new ReenactError('LOG_HAS_NO_CALLS', `${ref} holds no call`);
  const config = readConfig();
  refuseDeclared(config, calls.filter(isFunctionCall));
  const replayOptions: ReplayOptions = {
    overrides: [...(options.overrides ?? [])],
    onDivergence: options.onDivergence ?? 'fail',
    ignore: [...(options.ignore ?? []), ...(config.file.ignore ?? [])],
    seedRun: recording.runId,
  };
  const process = new FunctionProcess({
    config: { ...config, replayRef: ref },
    redactor: createRedactor({ config }),
    recording,
    logs,
    place,
    options: replayOptions,
    outer,
  });
  const ended = await settle(process, fn, options.timeoutMs ?? DEFAULT_TIMEOUT_MS);
  const replayed = process.recorded();
  refuseLoadedBefore(config, process.declaredStatus, {
    recorded: calls.filter(isFunctionCall),
    asked: replayed.calls.filter(isFunctionCall),
  });
  const report = buildReplayDocument({
    ref,
    runId: process.runId,
    logs,
    recording,
    reports: [process.report()],
    exitCode: 'error' in ended ? 1 : 0,
    stdoutComparable: false,
    replayLogs: buildLogs(replayed),
  });
  return { ...ended, report };
}

function isFunctionCall(call: CallRecord): call is FunctionCallRecord {
  return call.kind === 'tool' || call.kind === 'observation';
}

type Ended<T> = { readonly value: T } | { readonly error: unknown };

/** Runs the function to its end and lets everything come that it has set off and the recording holds. */
async function settle<T>(process: FunctionProcess, fn: () => T, timeoutMs: number): Promise<Ended<Awaited<T>>> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = originals.setTimeout(() => {
      reject(new ReenactError('REPLAY_STUCK', `the function did not end within ${timeoutMs} ms`));
    }, timeoutMs);
  });
  try {
    process.install();
    const ended = await Promise.race([limit, outcomeOf(process, fn)]);
    await Promise.race([limit, process.drain()]);
    return ended;
  } finally {
    originals.clearTimeout(timer);
    process.end();
  }
}

async function outcomeOf<T>(process: FunctionProcess, fn: () => T): Promise<Ended<Awaited<T>>> {
  try {
    return { value: await process.run(fn) };
  } catch (error) {
    return { error };
  }
}
