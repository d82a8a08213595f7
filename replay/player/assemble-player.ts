import type { ExecutionLog } from '../../instrumentation/schema/execution-log';
import type { RecordSink, WireRequest } from '../../instrumentation/schema/records';
import { ReplayClock } from '../clock/replay-clock';
import { Turns } from '../clock/turns';
import { socketTimers, VirtualTimers } from '../clock/virtual-timers';
import { installVirtualNetwork } from '../network/virtual-network';
import type { VirtualNetwork } from '../network/virtual-network';
import { CORRELATION_HEADER, ExchangePlayer } from './exchange-player';
import { hintFor } from './explain';
import { isInbound } from './inbound-player';
import { sameMadeId } from './made-ids';
import { FunctionPlayer } from './function-player';
import type { ProcessRecording } from './process-recording';
import type { QuiescenceProbe, Rest } from './quiescence';
import { RecordedExchanges, RecordedFunctions } from './recorded-calls';
import { RecordedEnd } from './recorded-end';
import { RecordedFirings } from './recorded-firings';
import { RecordedStatements } from './recorded-statements';
import { programStack } from './program-stack';
import type { ReplayOptions } from './report';
import { Scheduler } from './scheduler';
import { ReplayState } from './session-state';

export interface PlayerParts {
  /** What is played: the part of the run that one process made. */
  readonly own: ProcessRecording;
  readonly logs: readonly ExecutionLog[];
  readonly options: ReplayOptions;
  readonly redactRequest: (request: WireRequest) => WireRequest;
  readonly redactJson: (value: unknown) => unknown;
  readonly quiescence: (probe: QuiescenceProbe, turns: Turns) => Rest;
  /** Whether the running code has the virtual network; all code of the process without it. */
  readonly applies?: () => boolean;
  /** With it a program that ended inside a call is ended as it was; it must be a process of its own. */
  readonly exitCode?: number | undefined;
}

/** Everything that answers a replayed program. */
export interface Player {
  readonly clock: ReplayClock;
  readonly timers: VirtualTimers;
  readonly state: ReplayState;
  readonly statements: RecordedStatements;
  readonly scheduler: Scheduler;
  readonly exchanges: ExchangePlayer;
  readonly gate: FunctionPlayer;
  readonly network: VirtualNetwork;
}

/**
 * Builds the player of a recording and puts the virtual network in place.
 * @throws ReenactError SET_INVALID, TURN_NOT_FOUND
 */
export function assemblePlayer(parts: PlayerParts): Player {
  const { own, logs, options, redactRequest, redactJson } = parts;
  const clock = new ReplayClock(own.ambient, own.startMs, own.hrtimeOrigin);
  const timers = new VirtualTimers(
    () => clock.now(),
    () => scheduler.wake(),
  );
  const state = new ReplayState({ options, logs, clock, timers });
  const turns = new Turns();
  const quiescence = parts.quiescence({ activity: () => network.activity, busy: () => exchanges.busy }, turns);
  const scheduler: Scheduler = new Scheduler({
    clock,
    timers,
    quiescence,
    firings: new RecordedFirings(own.ambient, own.startMs),
  });
  const recordedExchanges = new RecordedExchanges(own.exchanges, options.ignore, sameMadeId(own));
  const recordedFunctions = new RecordedFunctions(own.functions.filter((record) => !isInbound(record)));
  const pools = { recordedExchanges, recordedFunctions };
  const exchanges: ExchangePlayer = new ExchangePlayer({
    recorded: recordedExchanges,
    scheduler,
    state,
    clock,
    redactRequest,
  });
  const statements = new RecordedStatements({ decisions: own.decisions, sessions: own.sessions, redactJson });
  const gate = new FunctionPlayer({
    recorded: recordedFunctions,
    scheduler,
    state,
    clock,
    redactJson,
    statements,
    end: new RecordedEnd(parts.exitCode),
    substituted: (record) => consume(own, record.spanId, pools),
  });
  const network: VirtualNetwork = installVirtualNetwork({
    correlationHeader: CORRELATION_HEADER,
    timers: socketTimers(timers),
    turns,
    onCall: (call) => exchanges.onCall(call),
    onConnect: (target) => exchanges.onConnect(target),
    onBlocked: (what) => state.blocked(blockedBy(what)),
    ...(parts.applies && { applies: parts.applies }),
  });
  exchanges.network = network;
  scheduler.atRest = () => exchanges.assignWave();
  scheduler.holdsProcess = () => exchanges.holdsProcess;
  return { clock, timers, state, statements, scheduler, exchanges, gate, network };
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

/** The explanation of something that a replay does not let happen. */
export function blockedBy(what: string): Parameters<ReplayState['blocked']>[0] {
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
    stack: programStack(),
  };
}

/** A sink that lets the player hear how the sessions of the replay end. */
export function listening(sink: RecordSink, statements: RecordedStatements): RecordSink {
  return {
    write(record) {
      if (record.kind === 'session' && record.phase === 'end') statements.sessionEnded(record);
      sink.write(record);
    },
    flushSync: () => sink.flushSync(),
    flush: (deadlineMs) => sink.flush(deadlineMs),
  };
}
