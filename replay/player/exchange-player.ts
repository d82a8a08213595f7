import type { ExchangeCorrelator } from '../../instrumentation/recorder-options';
import type { ExchangeStart } from '../../instrumentation/exchange-observer';
import type { Scope } from '../../instrumentation/context';
import { originals } from '../../instrumentation/originals';
import { describeExchange } from '../../instrumentation/providers/describe';
import type { ExchangeRecord, HeaderList, WireRequest } from '../../instrumentation/schema/records';
import type {
  ConnectTarget,
  ConnectVerdict,
  IncomingCall,
  Responder,
  VirtualNetwork,
} from '../network/virtual-network';
import { answerDivergence, answerReleases } from './answers';
import type { AnswerPiece } from './answers';
import { overriddenExchange } from './overridden-exchange';
import { originOf, routeOf } from './call-key';
import { explainExchange, explainLive, hintFor, nearestExchange } from './explain';
import type { RecordedExchanges } from './recorded-calls';
import { programStack } from './program-stack';
import type { DivergenceKind, Use } from './report';
import type { Scheduler } from './scheduler';
import type { ReplayState } from './session-state';
import type { WaitingCall } from './waiting-call';
import { assignWave } from './wave';
import type { ReplayClock } from '../clock/replay-clock';

export const CORRELATION_HEADER = 'x-reenact-call';

interface Started {
  readonly info: ExchangeStart;
  readonly scope: Scope;
  readonly sinceMs: number;
}

/** A started call that has not come through the client within this real time is not waited for any longer. */
const ON_ITS_WAY_MS = 2_000;

export interface ExchangePlayerParts {
  readonly recorded: RecordedExchanges;
  readonly scheduler: Scheduler;
  readonly state: ReplayState;
  readonly clock: ReplayClock;
  /** The recording went through this before it was hashed, so the request must too. */
  readonly redactRequest: (request: WireRequest) => WireRequest;
}

/** Errors after which a connection existed: the request was sent. All others happened while connecting. */
const AFTER_CONNECT = new Set([
  'UND_ERR_SOCKET',
  'ECONNRESET',
  'EPIPE',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_ABORTED',
  'ABORT_ERR',
]);

function failedToConnect(record: ExchangeRecord): boolean {
  return (
    record.response === undefined &&
    record.outcome === 'error' &&
    record.error?.code !== undefined &&
    !AFTER_CONNECT.has(record.error.code)
  );
}

/** Answers the HTTP requests of a replayed program. */
export class ExchangePlayer implements ExchangeCorrelator {
  network: VirtualNetwork | undefined;
  private readonly parts: ExchangePlayerParts;
  private readonly pending = new Map<string, Started>();
  /** Connections that wait for the call that made them. */
  private readonly connecting = new Set<{ readonly origin: string; decide(): void }>();
  /** Answers that have begun and not ended. */
  private readonly open = new Set<Responder>();
  private wave: WaitingCall[] = [];
  private liveCalls = 0;

  constructor(parts: ExchangePlayerParts) {
    this.parts = parts;
  }

  /** A live call is under way, or a request is on its way through the client: the program is not at rest. */
  get busy(): boolean {
    if (this.liveCalls > 0) return true;
    for (const { sinceMs } of this.pending.values()) {
      if (originals.performanceNow() - sinceMs < ON_ITS_WAY_MS) return true;
    }
    return false;
  }

  /** The socket of an answer that has not ended would keep the program alive. */
  get holdsProcess(): boolean {
    for (const responder of this.open) if (responder.closed) this.open.delete(responder);
    return this.open.size > 0;
  }

  ended(id: string): void {
    this.pending.delete(id);
  }

  started(exchange: { id: string; info: ExchangeStart; scope: Scope }): readonly [string, string] {
    this.pending.set(exchange.id, { ...exchange, sinceMs: originals.performanceNow() });
    const origin = originOf(exchange.info.url);
    [...this.connecting].find((connection) => connection.origin === origin)?.decide();
    return [CORRELATION_HEADER, exchange.id];
  }

  onConnect(target: ConnectTarget): ConnectVerdict | Promise<ConnectVerdict> {
    // Unix sockets and pipes belong to development tools (loaders, debuggers), not to the conversation.
    if (target.path !== undefined) return { pass: true };
    const { recorded, state } = this.parts;
    const origin = originOf(
      `${target.tls ? 'https' : 'http'}://${target.host.includes(':') ? `[${target.host}]` : target.host}:${target.port}`,
    );
    const refused = this.recordedRefusal(origin);
    if (refused !== undefined) return this.refuseAsRecorded(refused);
    if (this.mayBeRefused(origin)) return this.afterStart(origin);
    if (recorded.origins.has(origin) || state.isLiveFromHere || state.policy.startsWith('live'))
      return { accept: true };
    const known = [...recorded.origins].join(', ');
    state.blocked({
      kind: 'blocked',
      turn: null,
      rule: 'connection',
      path: '',
      expected: known,
      actual: origin,
      nearest: null,
      name: `connection to ${origin}`,
      cause: `no call to ${origin} was recorded; recorded: ${known || 'none'}`,
      hint: hintFor('blocked'),
      stack: programStack(),
    });
    return {
      refuse: {
        code: 'ECONNREFUSED',
        message: `connect ECONNREFUSED ${target.host}:${target.port} (blocked by reenact: nothing recorded answers it)`,
      },
    };
  }

  /** A started call on this origin whose next recording failed to connect. */
  private recordedRefusal(origin: string): ExchangeRecord | undefined {
    for (const [id, started] of this.pending) {
      if (originOf(started.info.url) !== origin) continue;
      const route = routeOf({ ...started.info, body: Buffer.alloc(0) });
      const next = this.parts.recorded
        .unused()
        .find((record) => record.scope === started.scope.path && routeOf(record.request) === route);
      if (next !== undefined && failedToConnect(next)) {
        this.pending.delete(id);
        return next;
      }
    }
    return undefined;
  }

  /** A connection to this origin failed in the recording, and the call that wants this one is not known yet. */
  private mayBeRefused(origin: string): boolean {
    for (const { info } of this.pending.values()) if (originOf(info.url) === origin) return false;
    return this.parts.recorded.unused().some((one) => originOf(one.request.url) === origin && failedToConnect(one));
  }

  /** node:http connects before it has a request to send; whether that connection failed is a matter of the request. */
  private afterStart(origin: string): Promise<ConnectVerdict> {
    return new Promise((resolve) => {
      const decide = (): void => {
        originals.clearTimeout(patience);
        this.connecting.delete(connection);
        const refused = this.recordedRefusal(origin);
        resolve(refused === undefined ? { accept: true } : this.refuseAsRecorded(refused));
      };
      const patience = originals.setTimeout(decide, ON_ITS_WAY_MS).unref();
      const connection = { origin, decide };
      this.connecting.add(connection);
    });
  }

  private refuseAsRecorded(record: ExchangeRecord): Promise<ConnectVerdict> {
    this.use(record, 'exact');
    const { code = 'ECONNREFUSED', message = '', name = 'Error', frames } = record.error ?? {};
    const refuse = { code, message, name, ...(frames !== undefined && { frames }) };
    return new Promise((resolve) => {
      this.parts.scheduler.add({
        seq: record.seqEnd,
        ms: record.endMs,
        sessionId: record.sessionId,
        run: () => resolve({ refuse }),
      });
    });
  }

  onCall(incoming: IncomingCall): void {
    const started = incoming.correlation === undefined ? undefined : this.pending.get(incoming.correlation);
    if (incoming.correlation !== undefined) this.pending.delete(incoming.correlation);
    const call: WaitingCall = {
      incoming,
      request: this.parts.redactRequest(incoming.request),
      scope: started?.scope.path,
    };
    if (this.parts.state.isLiveFromHere) return this.goLive(call, 'after');
    // What no tap sees now was not recorded then: a raw socket must not use up the answer of another call.
    const match = started === undefined ? undefined : this.parts.recorded.match(call.request, call.scope);
    if (match !== undefined) {
      this.parts.state.reached(match.record.spanId);
      if (this.parts.state.isLiveFromHere || (this.parts.state.options.live === 'llm' && match.record.kind === 'llm'))
        return this.goLive(call, this.parts.state.isLiveFromHere ? 'after' : 'asked');
      return this.answer(match.record, call, 'exact');
    }
    this.miss(call);
  }

  private miss(call: WaitingCall): void {
    const { state, scheduler } = this.parts;
    const isLlm = describeExchange(call.request) !== undefined;
    if (state.options.live === 'llm' && isLlm) return this.goLive(call, 'asked');
    if (state.divergesToLive()) return this.goLive(call, 'difference');
    if (state.policy === 'recorded') {
      this.wave.push(call);
      scheduler.wake();
      return;
    }
    this.diverge(call);
  }

  /** At rest: the calls of one wave that nothing answers exactly get the recorded answers of their places. */
  assignWave(): boolean {
    if (this.wave.length === 0) return false;
    const wave = this.wave;
    this.wave = [];
    const assigned = assignWave(wave, this.parts.recorded.unused());
    for (const call of wave) {
      const record = assigned.get(call);
      if (record === undefined) this.diverge(call);
      else {
        this.parts.state.note(this.explain('relaxed', call, record));
        this.answer(record, call, 'relaxed');
      }
    }
    return true;
  }

  private use(record: ExchangeRecord, use: Use): void {
    this.parts.recorded.claim(record);
    this.parts.state.used.set(record.spanId, use);
    this.parts.clock.passed(record.sessionId, record.seqStart);
  }

  private answer(record: ExchangeRecord, call: WaitingCall, use: Use): void {
    const override = this.parts.state.overrides.bySpan.get(record.spanId);
    if (override === undefined) {
      this.use(record, use);
      return this.play(answerReleases(record, call.incoming.responder), record, call);
    }
    this.use(record, 'overridden');
    this.parts.state.overrideUsed(override.override, override.turn);
    this.play(answerReleases(overriddenExchange(record, override.override), call.incoming.responder), record, call);
  }

  /** Hands the pieces to the scheduler one after the other; those of one number arrived, and arrive, together. */
  private play(pieces: readonly AnswerPiece[], record: ExchangeRecord, call: WaitingCall): void {
    const { scheduler } = this.parts;
    const { responder } = call.incoming;
    this.open.add(responder);
    const next = (index: number): void => {
      const piece = pieces[index];
      if (piece === undefined || responder.closed) return;
      let end = index + 1;
      while (pieces[end]?.seq === piece.seq) end += 1;
      scheduler.add({
        seq: piece.seq,
        ms: piece.ms,
        sessionId: record.sessionId,
        run: () => {
          responder.together(() => pieces.slice(index, end).forEach((each) => each.run()));
          next(end);
        },
      });
    };
    next(0);
  }

  private diverge(call: WaitingCall): void {
    const divergence = this.explain('diverged', call);
    const error = this.parts.state.diverged(divergence);
    const run = (): void => answerDivergence(error, call.incoming.responder);
    this.parts.scheduler.add({ seq: 0, ms: this.parts.clock.now(), sessionId: '', run });
  }

  private explain(
    kind: DivergenceKind,
    call: WaitingCall,
    answeredBy?: ExchangeRecord,
  ): ReturnType<typeof explainExchange> {
    const nearest = nearestExchange(call.request, call.scope, this.parts.recorded.unused());
    return explainExchange(
      kind,
      { request: call.request, nearest, scope: call.scope, ...(answeredBy !== undefined && { answeredBy }) },
      this.parts.state,
    );
  }

  private goLive(call: WaitingCall, why: 'asked' | 'after' | 'difference'): void {
    const name = `HTTP ${routeOf(call.request)}`;
    this.parts.state.wentLive(why === 'difference' ? this.explain('live', call) : explainLive(name, why));
    const { responder } = call.incoming;
    this.liveCalls += 1;
    const done = (): void => {
      this.liveCalls -= 1;
      this.parts.scheduler.wake();
    };
    let trailers: HeaderList = [];
    const request = this.network?.forward(call.incoming.request, {
      head: (head) => responder.head(head),
      chunk: (bytes) => responder.chunk(bytes),
      trailers: (list) => (trailers = list),
      end: () => {
        responder.end(trailers);
        done();
      },
      error: ({ code = 'ECONNRESET', message, syscall }) => {
        responder.destroy({ code, message, ...(syscall !== undefined && { syscall }) });
        done();
      },
    });
    responder.onClose(() => request?.abort());
  }
}
