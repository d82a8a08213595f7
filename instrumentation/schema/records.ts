/**
 * What one process records, before it becomes spans and after it has been read back from them.
 * Times are epoch milliseconds (fractions allowed); `seq` numbers form one total order per process.
 */

/** What a call is. `llm` is an HTTP exchange that a provider file recognises; `http` is any other. */
export type CallKind = 'llm' | 'http' | 'tool' | 'observation' | 'decision';

/**
 * How a call ended: `ok`; `error` (it answered with, or threw, an error); `aborted` (the program gave up);
 * `cut` (the peer or the network broke it off); `open` (still unfinished at the end of the process).
 */
export type Outcome = 'ok' | 'error' | 'aborted' | 'cut' | 'open';

export interface RecordedError {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  /** Frames of an error that Node itself made, one a line: programs print them with the error. */
  readonly frames?: string;
}

export type AttributeValue = string | number | boolean | readonly string[];

/** Where and when a call stands. Present on every call record. */
export interface CallIdentity {
  readonly kind: CallKind;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly runId: string;
  /** Position of the process in the tree of the run: `0` is the first, `0.1` its first Node child, … */
  readonly processPath: string;
  /** The process's own prelude (calls outside every session) has the session id `''`. */
  readonly sessionId: string;
  readonly agentId?: string;
  /** Nesting of sessions, tools and agents, e.g. `support/get_order#2`. */
  readonly scope: string;
  readonly seqStart: number;
  readonly seqEnd: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly outcome: Outcome;
  readonly error?: RecordedError;
  /** Name of the span, for people. */
  readonly name: string;
  /** The bounded `gen_ai.*` view and other attributes for people; replay never reads them. */
  readonly attributes?: Readonly<Record<string, AttributeValue>>;
  /** Reads of clock, timers and randomness since the record before; see `ambient-log.ts`. */
  readonly ambient?: readonly string[];
}

export type HeaderList = readonly (readonly [name: string, value: string])[];

export interface WireRequest {
  readonly method: string;
  /** Absolute URL as sent, credentials removed. */
  readonly url: string;
  readonly headers: HeaderList;
  readonly body: Buffer;
}

export interface WireChunk {
  readonly seq: number;
  /** Milliseconds since the call started. */
  readonly ms: number;
  readonly bytes: Buffer;
}

export interface WireResponse {
  readonly status: number;
  readonly statusText: string;
  /** As on the wire: order, case and duplicates kept. */
  readonly headers: HeaderList;
  readonly headSeq: number;
  readonly headMs: number;
  /** Body bytes in the pieces in which they arrived: transfer coding undone, content coding (gzip, br) kept. */
  readonly chunks: readonly WireChunk[];
  readonly trailers: HeaderList;
}

/** One HTTP attempt. Retries are records of their own. */
export interface ExchangeRecord extends CallIdentity {
  readonly kind: 'llm' | 'http';
  readonly transport: 'undici' | 'node-http';
  readonly provider?: string;
  readonly request: WireRequest;
  /** Absent when no response head arrived; then `error` says why. */
  readonly response?: WireResponse;
}

/** JSON that may hold tagged values for what JSON loses; see `typed-json.ts`. */
export type TypedJson = unknown;

export interface ToolRecord extends CallIdentity {
  readonly kind: 'tool';
  readonly tool: string;
  readonly args: TypedJson;
  /** Absent when the tool threw; then `thrown` holds the error. */
  readonly result?: TypedJson;
  readonly thrown?: TypedJson;
  /** A synchronous tool answers synchronously in a replay too. */
  readonly synchronous: boolean;
  /** `run`: the tool runs for real in replays. */
  readonly replay: 'substitute' | 'run';
}

export interface ObservationRecord extends CallIdentity {
  readonly kind: 'observation';
  readonly key: string;
  /** Arguments of the observed function, when it is declared rather than named. */
  readonly args?: TypedJson;
  readonly value?: TypedJson;
  readonly thrown?: TypedJson;
  readonly synchronous: boolean;
}

export interface DecisionRecord extends CallIdentity {
  readonly kind: 'decision';
  readonly decision: string;
  readonly data: TypedJson;
}

export type CallRecord = ExchangeRecord | ToolRecord | ObservationRecord | DecisionRecord;

/** A session begins (`start`, written at once so that a crash keeps it) or has ended (`end`, with its outcome). */
export interface SessionRecord {
  readonly kind: 'session';
  readonly phase: 'start' | 'end';
  readonly traceId: string;
  /** Of the session's root span; the same in both phases. */
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly runId: string;
  readonly processPath: string;
  readonly sessionId: string;
  readonly scope: string;
  readonly agentId?: string;
  readonly agentVersion?: string;
  readonly promptVersion?: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly seq: number;
  readonly outcome?: 'resolved' | 'escalated' | 'abandoned';
  /** Set by `markFailure`. */
  readonly failure?: string;
  readonly metadata?: TypedJson;
  readonly ambient?: readonly string[];
}

/** Facts of the process, written before its first call. */
export interface ProcessRecord {
  readonly kind: 'process';
  readonly traceId: string;
  readonly spanId: string;
  readonly runId: string;
  readonly processPath: string;
  readonly pid: number;
  readonly startMs: number;
  /** What `process.hrtime.bigint()` was at the start, decimal: it counts from a moment of the machine. */
  readonly hrtimeOrigin?: string;
  readonly argv: readonly string[];
  readonly execArgv: readonly string[];
  readonly cwd: string;
  /** What `reenact record` ran, when it started this run. */
  readonly command?: { readonly argv: readonly string[]; readonly cwd: string };
  readonly nodeVersion: string;
  readonly platform: string;
  /** Allow-listed variables with their values; of all others only the name, with `null`. */
  readonly env: Readonly<Record<string, string | null>>;
  /** Seed of `Math.random`, hex; absent when `--random-seed` governs it. */
  readonly seed?: string;
  readonly formatVersion: string;
  /** Set when this process was itself a replay: the reference replayed. */
  readonly replayOf?: string;
  /** Name given by `--session` or `REENACT_SESSION`, else made. */
  readonly defaultSessionId: string;
}

/** Written when the process ends in an orderly way. */
export interface ProcessExitRecord {
  readonly kind: 'exit';
  readonly traceId: string;
  readonly spanId: string;
  readonly runId: string;
  readonly processPath: string;
  readonly endMs: number;
  readonly exitCode: number;
  readonly seq: number;
  /** SHA-256 (hex) and length of everything the process wrote to stdout, when it could be observed. */
  readonly stdout?: { readonly sha256: string; readonly bytes: number };
  readonly stderr?: { readonly sha256: string; readonly bytes: number };
  /** Calls started, and failures of our own code by place. */
  readonly calls: number;
  readonly failures?: Readonly<Record<string, number>>;
  readonly ambient?: readonly string[];
}

export type AnyRecord = CallRecord | SessionRecord | ProcessRecord | ProcessExitRecord;

/** Where the recorder puts finished records. Implementations never throw and never block on the network. */
export interface RecordSink {
  write(record: AnyRecord): void;
  /** Everything written so far is in the local file after this; synchronous, for the `exit` event. */
  flushSync(): void;
  /** Sends what is waiting; resolves at the latest after `deadlineMs`. */
  flush(deadlineMs: number): Promise<void>;
}

/** A named hole in a recording. */
export interface Gap {
  readonly code: string;
  readonly message: string;
  readonly spanId?: string;
  readonly sessionId?: string;
}

/** What was read back: everything replay needs. */
export interface Recording {
  readonly formatVersion: string;
  readonly runId: string;
  readonly processes: readonly ProcessRecord[];
  readonly exits: readonly ProcessExitRecord[];
  readonly sessions: readonly SessionRecord[];
  /** By process path, then `seqStart`. */
  readonly calls: readonly CallRecord[];
  /** Pieces of ambient log of all records, in order; `ambient-log.ts` reads them. */
  readonly ambient: readonly {
    readonly processPath: string;
    readonly sessionId: string;
    readonly lines: readonly string[];
  }[];
  readonly gaps: readonly Gap[];
}
