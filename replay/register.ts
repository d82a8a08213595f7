/**
 * Composition root of a replayed process: reads the log, builds the player, puts the virtual network, clock and gate in
 * place, and writes the report when the process ends.
 */
import { syncBuiltinESMExports } from 'node:module';
import { composeRecorder } from '../instrumentation/compose-recorder';
import type { Composed, Composition } from '../instrumentation/compose-recorder';
import type { Recorder } from '../instrumentation/recorder';
import type { Recording, WireRequest } from '../instrumentation/schema/records';
import { installVirtualTimers } from './clock/install-timers';
import { ReplayClock } from './clock/replay-clock';
import { replayDraws } from './clock/replay-draws';
import { socketTimers, VirtualTimers } from './clock/virtual-timers';
import { mergeRecordings } from './log/recording-of-log';
import { installVirtualNetwork } from './network/virtual-network';
import type { VirtualNetwork } from './network/virtual-network';
import { CORRELATION_HEADER, ExchangePlayer } from './player/exchange-player';
import { hintFor } from './player/explain';
import { FunctionPlayer } from './player/function-player';
import { recordingOfProcess } from './player/process-recording';
import type { ProcessRecording } from './player/process-recording';
import { Quiescence } from './player/quiescence';
import { RecordedExchanges, RecordedFunctions } from './player/recorded-calls';
import { RecordedFirings } from './player/recorded-firings';
import type { ReplayInput } from './player/replay-input';
import type { ProcessReport } from './player/report';
import { installChildSandbox } from './sandbox/child-processes';
import { alwaysWritable, installWriteSandbox } from './sandbox/file-writes';
import { installUdpSandbox } from './sandbox/udp';
import { Scheduler } from './player/scheduler';
import { ReplayState } from './player/session-state';

export interface ReplayParts extends Omit<Composition, 'gate' | 'replay'> {
  readonly input: ReplayInput;
  readonly redactRequest: (request: WireRequest) => WireRequest;
  readonly redactJson: (value: unknown) => unknown;
}

export interface Replay extends Composed {
  /** The report of this process, as it stands. */
  report(digest: ProcessReport['stdout']): ProcessReport;
}

/** Starts the replay in this process. @throws ReenactError when the input cannot be used */
export function startReplay(parts: ReplayParts): Replay {
  const { logs, options } = parts.input;
  const recording = mergeRecordings(logs);
  const own = recordingOfProcess(recording, parts.config.processPath);
  const clock = new ReplayClock(own.ambient, own.startMs);
  const timers = new VirtualTimers(
    () => clock.now(),
    () => scheduler.wake(),
  );
  const state = new ReplayState({ options, logs, clock, timers });
  const quiescence: Quiescence = new Quiescence({
    activity: () => network.activity,
    busy: () => exchanges.busy,
  });
  const scheduler: Scheduler = new Scheduler({
    clock,
    timers,
    quiescence,
    firings: new RecordedFirings(own.ambient, own.startMs),
  });
  const recordedExchanges = new RecordedExchanges(own.exchanges, [
    ...options.ignore,
    ...(parts.config.file.ignore ?? []),
  ]);
  const recordedFunctions = new RecordedFunctions(own.functions);
  const exchanges: ExchangePlayer = new ExchangePlayer({
    recorded: recordedExchanges,
    scheduler,
    state,
    clock,
    redactRequest: parts.redactRequest,
  });
  const gate = new FunctionPlayer({
    recorded: recordedFunctions,
    scheduler,
    state,
    clock,
    redactJson: parts.redactJson,
    substituted: (record) => consume(own, record.spanId, { recordedExchanges, recordedFunctions }),
  });
  const network: VirtualNetwork = installVirtualNetwork({
    correlationHeader: CORRELATION_HEADER,
    timers: socketTimers(timers),
    onCall: (call) => exchanges.onCall(call),
    onConnect: (target) => exchanges.onConnect(target),
    onBlocked: (what) => state.blocked(blockedBy(what)),
  });
  exchanges.network = network;
  scheduler.atRest = () => exchanges.assignWave();
  const composed = composeRecorder({
    ...parts,
    gate,
    replay: {
      clock,
      draws: (recorder) => replayDraws(own.ambient, recorder.scopes, own.process?.seed ?? ''),
      timers: (recorder) => useRecorder(recorder, clock, timers),
      correlator: exchanges,
      seed: own.process?.seed,
      startMs: own.startMs,
      defaultSessionId: own.process?.defaultSessionId ?? logs[0]?.sessionId,
    },
  });
  installSandbox({ recording, store: parts.config.store, state, recorder: composed.recorder });
  const report = (stdout: ProcessReport['stdout']): ProcessReport => ({
    processPath: parts.config.processPath,
    runId: composed.recorder.options.runId,
    sessionIds: logs.map((log) => log.sessionId),
    used: Object.fromEntries(state.used),
    ...state.counts,
    divergences: state.divergences,
    stdout,
  });
  return { ...composed, report };
}

function useRecorder(recorder: Recorder, clock: ReplayClock, timers: VirtualTimers): void {
  clock.scopes = recorder.scopes;
  clock.internalReads = recorder.internalReads;
  installVirtualTimers(timers, recorder.scopes);
}

/** What a substituted function did inside will not be asked for: its recordings must answer nothing else. */
function consume(
  own: ProcessRecording,
  spanId: string,
  pools: { recordedExchanges: RecordedExchanges; recordedFunctions: RecordedFunctions },
): void {
  for (const call of own.inside(spanId)) {
    if (call.kind === 'llm' || call.kind === 'http') pools.recordedExchanges.claim(call);
    else if (call.kind === 'tool' || call.kind === 'observation') pools.recordedFunctions.claim(call);
  }
}

function installSandbox(parts: { recording: Recording; store: string; state: ReplayState; recorder: Recorder }): void {
  const { state, recorder } = parts;
  const paths = parts.recording.processes.map((process) => process.processPath);
  const blocked = (what: string, hint: string): void => state.blocked({ ...blockedBy(what), hint });
  installChildSandbox({
    blocked,
    allowsNext() {
      const next = `${recorder.options.processPath}.${recorder.childOrdinals.child + 1}`;
      return state.isLiveFromHere || paths.some((path) => path === next || path.startsWith(`${next}.`));
    },
    skipped: () => void (recorder.childOrdinals.child += 1),
  });
  installUdpSandbox({ blocked });
  installWriteSandbox({ blocked, allowed: [...alwaysWritable(parts.store), ...(state.options.allowWrite ?? [])] });
  syncBuiltinESMExports();
}

function blockedBy(what: string): Parameters<ReplayState['blocked']>[0] {
  return {
    kind: 'blocked',
    turn: null,
    rule: 'sandbox',
    path: '',
    expected: null,
    actual: what,
    nearest: null,
    name: what,
    cause: 'a replay makes no live call of any kind',
    hint: hintFor('blocked'),
    stack: new Error('blocked').stack ?? '',
  };
}

/**
 * Closes the recording of the replay when the process ends and hands over its report.
 * @param conclude given the report and the exit code, answers the exit code that the process shall have
 */
export function endReplay(replay: Replay, conclude: (report: ProcessReport, exitCode: number) => number): void {
  process.on('exit', (code) => {
    const digests = replay.output.digests();
    replay.recorder.close({ exitCode: code, ...digests });
    const own = conclude(replay.report(digests.stdout), code);
    if (own !== code) process.exitCode = own;
  });
}
