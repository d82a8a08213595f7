import { randomBytes } from 'node:crypto';
import { installClock } from './ambient/clock';
import type { ClockSource } from './ambient/clock-source';
import { installCrypto } from './ambient/crypto';
import type { DrawSource } from './ambient/crypto';
import { preloadedPackages } from './ambient/preloaded-packages';
import { installRandom, isSeededByFlag } from './ambient/random';
import { recordingClock, recordingDraws, recordingTimers, scopedRandom } from './ambient/recording-sources';
import { noteTemporaryNames } from './ambient/temporary-names';
import { installTimerObserver } from './ambient/timers';
import type { CallGate } from './call-gate';
import { installChildInheritance } from './child-processes';
import type { Config } from './config';
import type { Diagnostics } from './diagnostics';
import { createFilter } from './exclusions';
import { installHooks } from './install-hooks';
import { IdSource } from './ids';
import { InboundSessions } from './inbound-sessions';
import type { HearAnswer } from './inbound-sessions';
import { OutputDigests } from './output-digest';
import { CLAIMS_VARIABLE, makeClaims } from './process-claim';
import { processFacts, realNow } from './process-facts';
import { capturesContent, describeExchange } from './providers/describe';
import { GrowingBodies } from './providers/growing-bodies';
import { Recorder } from './recorder';
import type { ExchangeCorrelator, HostSpans, RecorderClock } from './recorder-options';
import { Runtime, setActiveRuntime } from './runtime';
import { installInboundHttp } from './taps/inbound-http';
import { installTaps } from './taps/registry';
import type { CallRecord, ExchangeRecord, RecordSink } from './schema/records';

/** What differs between recording and a replay that is itself recorded. */
export interface Composition {
  readonly config: Config;
  readonly diagnostics: Diagnostics;
  readonly gate: CallGate;
  /** The file that children and workers load first. */
  readonly preloadPath: string;
  readonly sink: RecordSink;
  readonly redact: <R extends CallRecord>(record: R) => R;
  readonly redactArgv: (argv: readonly string[]) => readonly string[];
  readonly hostSpans?: HostSpans;
  /** Present in a replay: everything virtual. */
  readonly replay?: {
    readonly clock: RecorderClock & ClockSource;
    readonly draws: (recorder: Recorder) => DrawSource;
    readonly timers: (recorder: Recorder) => void;
    readonly correlator: ExchangeCorrelator;
    readonly seed: string | undefined;
    readonly startMs: number;
    readonly defaultSessionId: string | undefined;
    readonly hearAnswer?: HearAnswer;
  };
}

export interface Composed {
  readonly recorder: Recorder;
  readonly output: OutputDigests;
}

/** Builds the recorder of this process and installs everything that feeds it. */
export function composeRecorder(composition: Composition): Composed {
  const { config, diagnostics, replay } = composition;
  const ids = new IdSource();
  const seededByFlag = isSeededByFlag(process.execArgv, process.env['NODE_OPTIONS']);
  const seed = replay === undefined ? (seededByFlag ? undefined : randomBytes(16).toString('hex')) : replay.seed;
  const runId = config.runId ?? ids.runId(realNow());
  const recorder = new Recorder({
    runId,
    processPath: config.processPath,
    defaultSessionId: config.sessionId ?? replay?.defaultSessionId ?? sessionOf(runId, config.processPath),
    clock: replay?.clock ?? { now: realNow },
    ids,
    sink: composition.sink,
    diagnostics,
    facts: factsOf(composition, seed),
    loaders: preloadedPackages(process.execArgv, process.env['NODE_OPTIONS']),
    filter: createFilter(config.file, config.otlp.url),
    redact: composition.redact,
    describe: callDescriber(capturesContent(process.env)),
    ...(replay !== undefined && { correlator: replay.correlator }),
    ...(composition.hostSpans !== undefined && { hostSpans: composition.hostSpans }),
  });
  const output = new OutputDigests();
  diagnostics.guard('installation', () => {
    output.install();
    installClock(replay?.clock ?? recordingClock(recorder));
    if (seed !== undefined) installRandom(scopedRandom(recorder, seed));
    installCrypto(replay?.draws(recorder) ?? recordingDraws(recorder));
    if (replay === undefined) {
      installTimerObserver(recordingTimers(recorder));
      noteTemporaryNames(recordingDraws(recorder));
    } else replay.timers(recorder);
    const onFailure = (place: string, error: unknown): void => diagnostics.failed(place, error);
    installTaps(recorder, onFailure, { whileLoading: () => recorder.internalReads.listenWhileLoading() });
    const { session } = config.file;
    if (session?.header !== undefined || session?.body !== undefined)
      installInboundHttp(new InboundSessions(recorder, session, replay?.hearAnswer), onFailure);
  });
  const runtime = new Runtime(recorder, composition.gate);
  setActiveRuntime(runtime);
  diagnostics.guard('module hooks', () => installHooks(config, runtime, diagnostics));
  diagnostics.guard('inheritance', () => inherit(composition, recorder));
  return { recorder, output };
}

/** Without any API call: one session per process. */
function sessionOf(runId: string, processPath: string): string {
  return processPath === '0' ? runId : `${runId}.${processPath}`;
}

/** Variables by which children and workers of a replay find its input and leave their reports. */
const REPLAY_VARIABLES = [
  'REENACT_REPLAY',
  'REENACT_REPLAY_FILE',
  'REENACT_REPLAY_OPTIONS',
  'REENACT_REPORT_DIR',
  'REENACT_COMMAND',
];

function inherit({ config, preloadPath, diagnostics }: Composition, recorder: Recorder): void {
  const passedOn = [...REPLAY_VARIABLES, 'REENACT_SPOOL', 'REENACT_DEBUG', 'REENACT_PAYLOAD'].flatMap(
    (name): [string, string][] => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    },
  );
  let claims = process.env[CLAIMS_VARIABLE];
  installChildInheritance({
    preloadPath,
    variables: {
      ...Object.fromEntries(passedOn),
      REENACT_MODE: config.mode,
      REENACT_RUN_ID: recorder.options.runId,
      REENACT_DIR: config.store,
      // Made at the first child of a program that no command of ours started: most programs have none.
      get [CLAIMS_VARIABLE]() {
        return (claims ??= makeClaims());
      },
      ...(config.configPath !== undefined && { REENACT_CONFIG: config.configPath }),
      ...(config.sessionId !== undefined && { REENACT_SESSION: config.sessionId }),
    },
    processPath: config.processPath,
    nextOrdinal: (kind) => ++recorder.childOrdinals[kind],
    onError: (place, error) => diagnostics.failed(place, error),
  });
}

function factsOf(
  { config, replay, redactArgv }: Composition,
  seed: string | undefined,
): ReturnType<typeof processFacts> {
  const facts = processFacts(config, seed);
  return {
    ...facts,
    argv: redactArgv(facts.argv),
    ...(facts.command !== undefined && { command: { ...facts.command, argv: redactArgv(facts.command.argv) } }),
    ...(replay !== undefined && { startMs: replay.startMs }),
  };
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** A finished exchange that a provider recognises becomes an LLM call with its view for people. */
export function callDescriber(content: boolean): (record: CallRecord) => CallRecord {
  const kept = new GrowingBodies();
  return (record) => {
    if (record.kind !== 'http') return record;
    const { request, response, outcome } = record;
    const bodies = { kept, key: `${record.sessionId}\n${request.url}` };
    const described = describeExchange(request, response, { outcome, content, bodies });
    if (described === undefined) return record;
    // The record is the recorder's own and has been shown to nobody; a copy of it would cost more than its view.
    return Object.assign(record as Mutable<ExchangeRecord>, {
      kind: 'llm' as const,
      provider: described.provider.id,
      name: described.spanName,
      attributes: Object.assign(described.view, record.attributes),
    });
  };
}
