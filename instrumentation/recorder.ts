import { makeScope, nextOrdinal, ScopeStorage } from './context';
import { InternalReads } from './ambient/internal-reads';
import type { Scope, SessionContext, SessionProgress } from './context';
import { ExchangeInProgress } from './exchange-recording';
import type { ExchangeObserver, ExchangeRecorder, ExchangeStart } from './exchange-observer';
import { AmbientWriter } from './schema/ambient-log';
import { FORMAT_VERSION } from './schema/version';
import type {
  AnyRecord,
  CallRecord,
  DecisionRecord,
  ObservationRecord,
  SessionRecord,
  ToolRecord,
} from './schema/records';
import type { RecorderOptions } from './recorder-options';

/** What the recorder fills in itself. */
type Own =
  | 'traceId'
  | 'spanId'
  | 'parentSpanId'
  | 'runId'
  | 'processPath'
  | 'sessionId'
  | 'agentId'
  | 'scope'
  | 'seqEnd'
  | 'endMs'
  | 'ambient';
export type FunctionRecord = Omit<ToolRecord, Own> | Omit<ObservationRecord, Own> | Omit<DecisionRecord, Own>;

/** Conversations whose place is known; a server must not grow for ever with its customers. */
const MAX_SESSIONS = 20_000;

/** A tool call or observation under way. */
export interface OpenCall {
  /** Records it as it stands: the process ends. */
  leftOpen(): void;
}

/** Turns what happens in one process into records. One total order: every event takes the next `seq`. */
export class Recorder implements ExchangeObserver {
  readonly scopes: ScopeStorage;
  readonly ambient = new AmbientWriter();
  readonly internalReads: InternalReads;
  /** Children and workers started so far. */
  readonly childOrdinals = { child: 0, worker: 0 };
  readonly options: RecorderOptions;
  private readonly rootSession: SessionContext;
  private readonly open = new Set<ExchangeInProgress>();
  private readonly progress = new Map<string, SessionProgress>();
  readonly openCalls = new Set<OpenCall>();
  private seq = 0;
  private calls = 0;
  private processWritten = false;
  private closedAs: string | undefined;

  constructor(options: RecorderOptions) {
    this.options = options;
    this.internalReads = new InternalReads(options.loaders);
    const { ids, facts } = options;
    const traceId = ids.traceId();
    const spanId = ids.spanId();
    this.rootSession = {
      id: options.defaultSessionId,
      traceId,
      spanId,
      scope: '',
      startMs: facts.startMs,
      progress: { lastSeq: 0 },
      started: false,
      ended: false,
      ...options.defaultAgent,
    };
    this.scopes = new ScopeStorage(
      makeScope({ path: '', session: this.rootSession, spanId, traceId }),
      options.isolated,
    );
  }

  nextSeq(session: SessionContext): number {
    session.progress.lastSeq = ++this.seq;
    return this.seq;
  }

  get callCount(): number {
    return this.calls;
  }

  start(info: ExchangeStart): ExchangeRecorder | undefined {
    if (this.scopes.isUntracked()) return undefined;
    return this.options.diagnostics.guard('start of an exchange', () => {
      if (!this.options.filter.records(info)) return undefined;
      const exchange = new ExchangeInProgress(this, info, this.scopes.current());
      this.open.add(exchange);
      return exchange;
    });
  }

  /** Called once by each exchange. */
  finishExchange(exchange: ExchangeInProgress, record: CallRecord): void {
    this.open.delete(exchange);
    this.writeCall(exchange.scope.session, this.options.describe(record));
  }

  /** Records a finished tool call, observation or decision made in `scope`. */
  finishFunction(scope: Scope, record: FunctionRecord, spanId = this.options.ids.spanId()): CallRecord {
    const full = {
      ...record,
      traceId: scope.traceId,
      spanId,
      parentSpanId: scope.spanId,
      runId: this.options.runId,
      processPath: this.options.processPath,
      sessionId: scope.session.id,
      scope: scope.path,
      seqEnd: this.nextSeq(scope.session),
      endMs: this.options.clock.now(),
      ...(scope.agentId !== undefined && { agentId: scope.agentId }),
    } as CallRecord;
    this.writeCall(scope.session, full);
    return full;
  }

  private writeCall(session: SessionContext, record: CallRecord): void {
    this.calls += 1;
    this.options.diagnostics.guard('write of a call', () => {
      this.startSession(session);
      const ambient = this.ambient.drain();
      const redacted = this.options.redact(record);
      this.options.sink.write(ambient === undefined ? redacted : Object.assign(redacted, { ambient }));
    });
  }

  /** Writes what must precede the first call of the process and of the session, so that a crash keeps it. */
  startSession(session: SessionContext): void {
    if (!this.processWritten) {
      this.processWritten = true;
      this.write({
        ...this.options.facts,
        kind: 'process',
        traceId: this.rootSession.traceId,
        spanId: this.options.ids.spanId(),
        runId: this.options.runId,
        processPath: this.options.processPath,
        formatVersion: FORMAT_VERSION,
        defaultSessionId: this.options.defaultSessionId,
      });
    }
    if (session.started) return;
    session.started = true;
    this.write(this.sessionRecord(session, 'start'));
  }

  endSession(session: SessionContext): void {
    if (session.ended || !session.started) return;
    session.ended = true;
    this.write(this.sessionRecord(session, 'end'));
  }

  private sessionRecord(session: SessionContext, phase: 'start' | 'end'): SessionRecord {
    const {
      id,
      traceId,
      spanId,
      parentSpanId,
      scope,
      agentId,
      agentVersion,
      promptVersion,
      startMs,
      outcome,
      failure,
      metadata,
    } = session;
    return {
      kind: 'session',
      phase,
      traceId,
      spanId,
      runId: this.options.runId,
      processPath: this.options.processPath,
      sessionId: id,
      scope,
      startMs,
      endMs: this.options.clock.now(),
      seq: this.nextSeq(session),
      ...(parentSpanId !== undefined && { parentSpanId }),
      ...(agentId !== undefined && { agentId }),
      ...(agentVersion !== undefined && { agentVersion }),
      ...(promptVersion !== undefined && { promptVersion }),
      ...(phase === 'end' && outcome !== undefined && { outcome }),
      ...(phase === 'end' && failure !== undefined && { failure }),
      ...(phase === 'end' && metadata !== undefined && { metadata }),
    };
  }

  /** A conversation that comes back within the process goes on from where it was. */
  private progressOf(id: string): SessionProgress {
    const known = this.progress.get(id) ?? { lastSeq: 0 };
    this.progress.delete(id);
    this.progress.set(id, known);
    if (this.progress.size > MAX_SESSIONS) this.progress.delete(this.progress.keys().next().value ?? '');
    return known;
  }

  openSession(
    fields: Pick<SessionContext, 'id'> &
      Partial<Pick<SessionContext, 'agentId' | 'agentVersion' | 'promptVersion' | 'metadata'>>,
  ): Scope {
    const parent = this.scopes.current();
    const ordinal = nextOrdinal(parent, `session:${fields.id}`);
    const name = encodeURIComponent(fields.id);
    const path = `${parent.path === '' ? '' : `${parent.path}/`}s:${name}${ordinal === 0 ? '' : `#${ordinal}`}`;
    const { ids, clock } = this.options;
    const session: SessionContext = {
      ...fields,
      traceId: ids.traceId(),
      spanId: ids.spanId(),
      scope: path,
      startMs: clock.now(),
      progress: this.progressOf(fields.id),
      started: false,
      ended: false,
    };
    return makeScope({
      path,
      session,
      spanId: session.spanId,
      traceId: session.traceId,
      ...(fields.agentId !== undefined && { agentId: fields.agentId }),
    });
  }

  /** Ends whatever is still open, as `open`, and the process's own session. For the end of the process. */
  close(exit: {
    exitCode: number;
    stdout?: { sha256: string; bytes: number };
    stderr?: { sha256: string; bytes: number };
  }): void {
    const { diagnostics, sink } = this.options;
    diagnostics.guard('end of the process', () => {
      for (const exchange of [...this.open]) exchange.end('open');
      for (const call of [...this.openCalls].reverse()) call.leftOpen();
      // At a natural end this runs before the last flush and again at `exit`: once more only if something came after.
      const state = `${this.calls} ${exit.exitCode} ${exit.stdout?.bytes} ${exit.stderr?.bytes}`;
      if (!this.processWritten || state === this.closedAs) return;
      this.closedAs = state;
      this.rootSession.ended = false;
      this.endSession(this.rootSession);
      const ambient = this.ambient.drain();
      const failures = diagnostics.failures;
      this.write({
        kind: 'exit',
        traceId: this.rootSession.traceId,
        spanId: this.options.ids.spanId(),
        runId: this.options.runId,
        processPath: this.options.processPath,
        endMs: this.options.clock.now(),
        seq: ++this.seq,
        calls: this.calls,
        ...exit,
        ...(Object.keys(failures).length > 0 && { failures }),
        ...(ambient !== undefined && { ambient }),
      });
      sink.flushSync();
    });
  }

  get root(): SessionContext {
    return this.rootSession;
  }

  private write(record: AnyRecord): void {
    this.options.sink.write(record);
  }
}
