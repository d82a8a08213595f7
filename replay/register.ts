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
import type { ReplayClock } from './clock/replay-clock';
import { replayDraws } from './clock/replay-draws';
import type { VirtualTimers } from './clock/virtual-timers';
import { mergeRecordings } from './log/recording-of-log';
import { installVirtualListening } from './network/virtual-listening';
import { assemblePlayer, blockedBy, listening } from './player/assemble-player';
import type { Player } from './player/assemble-player';
import { InboundPlayer, isInbound } from './player/inbound-player';
import { recordingOfProcess } from './player/process-recording';
import type { ProcessRecording } from './player/process-recording';
import { Quiescence } from './player/quiescence';
import type { ReplayInput } from './player/replay-input';
import type { ProcessReport } from './player/report';
import type { ReplayState } from './player/session-state';
import { installChildSandbox } from './sandbox/child-processes';
import { alwaysWritable, installWriteSandbox } from './sandbox/file-writes';
import { replayTemporaryNames } from './sandbox/temporary-names';
import { installUdpSandbox } from './sandbox/udp';

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
  const player = assemblePlayer({
    own,
    logs,
    options: { ...options, ignore: [...options.ignore, ...(parts.config.file.ignore ?? [])] },
    redactRequest: parts.redactRequest,
    redactJson: parts.redactJson,
    quiescence: (probe, turns) => new Quiescence(probe, turns),
    exitCode: own.exitCode,
  });
  const { clock, timers, state, statements } = player;
  const inbound = replayInbound(own, player);
  const composed = composeRecorder({
    ...parts,
    sink: listening(parts.sink, statements),
    gate: player.gate,
    replay: {
      clock,
      draws: (recorder) => {
        const draws = replayDraws(own.ambient, recorder.scopes, own.process?.seed ?? '');
        replayTemporaryNames(draws);
        return draws;
      },
      timers: (recorder) => useRecorder(recorder, clock, timers),
      correlator: player.exchanges,
      seed: own.process?.seed,
      startMs: own.startMs,
      defaultSessionId: own.process?.defaultSessionId ?? logs[0]?.sessionId,
      ...(inbound && { hearAnswer: (spanId, answer) => inbound.answered(spanId, answer) }),
    },
  });
  installSandbox({ recording, store: parts.config.store, state, recorder: composed.recorder });
  const report = (stdout: ProcessReport['stdout']): ProcessReport => ({
    processPath: parts.config.processPath,
    runId: composed.recorder.options.runId,
    sessionIds: logs.map((log) => log.sessionId),
    ...state.report(),
    statements: statements.differences(),
    stdout,
  });
  return { ...composed, report };
}

/** Only a recording that holds requests to the program's own servers replaces what they listen to. */
function replayInbound(own: ProcessRecording, player: Player): InboundPlayer | undefined {
  const recorded = own.functions.filter(isInbound);
  if (recorded.length === 0) return undefined;
  const inbound = new InboundPlayer({
    ...player,
    recorded,
    defaultSessionId: own.process?.defaultSessionId ?? '',
    exitCode: own.exitCode,
  });
  installVirtualListening({
    ports: inbound.ports,
    onListening: (server, port) => inbound.listening(server, port),
  });
  return inbound;
}

function useRecorder(recorder: Recorder, clock: ReplayClock, timers: VirtualTimers): void {
  clock.scopes = recorder.scopes;
  clock.internalReads = recorder.internalReads;
  installVirtualTimers(timers, recorder.scopes);
}

function installSandbox(parts: { recording: Recording; store: string; state: ReplayState; recorder: Recorder }): void {
  const { state, recorder } = parts;
  const paths = parts.recording.processes.map((process) => process.processPath);
  const blocked = (what: string, hint: string): void => state.blocked({ ...blockedBy(what), hint });
  installChildSandbox({
    blocked,
    allowsNext() {
      const next = `${recorder.options.processPath}.${recorder.childOrdinals.child + 1}`;
      return (
        state.isLiveFromHere ||
        paths.some((path) => path === next || path.startsWith(`${next}.`) || path.startsWith(`${next}~`))
      );
    },
    skipped: () => void (recorder.childOrdinals.child += 1),
  });
  installUdpSandbox({ blocked });
  installWriteSandbox({ blocked, allowed: [...alwaysWritable(parts.store), ...(state.options.allowWrite ?? [])] });
  syncBuiltinESMExports();
}

/**
 * Closes the recording of the replay when the process ends and hands over its report.
 * @param conclude given the report and the exit code, answers the exit code that the process shall have
 */
export function endReplay(replay: Replay, conclude: (report: ProcessReport, exitCode: number) => number): void {
  process.on('exit', (code) => {
    const digests = replay.output.digests();
    replay.recorder.close({ exitCode: code, ...digests });
    const own = conclude({ ...replay.report(digests.stdout), exitCode: code }, code);
    if (own !== code) process.exitCode = own;
  });
}
