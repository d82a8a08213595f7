import type { Scope } from './context';
import type { Diagnostics } from './diagnostics';
import type { ExchangeStart } from './exchange-observer';
import type { ExchangeFilter } from './exclusions';
import type { IdSource } from './ids';
import type { CallRecord, ProcessRecord, RecordSink } from './schema/records';

export interface RecorderClock {
  /** Epoch milliseconds with fractions; virtual in a replay. */
  now(): number;
}

/** Lets a replay learn of exchanges as they start, and find them again at the in-process server. */
export interface ExchangeCorrelator {
  started(exchange: { id: string; info: ExchangeStart; scope: Scope }): readonly [string, string];
  ended(id: string): void;
}

/** Tells the program's own OpenTelemetry of a call by a light span, and names the parent for ours. */
export interface HostSpans {
  start(
    name: string,
  ): { traceId: string; spanId: string; end(attributes: CallRecord['attributes'], failed: boolean): void } | undefined;
}

export interface RecorderOptions {
  readonly runId: string;
  readonly processPath: string;
  readonly defaultSessionId: string;
  readonly defaultAgent?: { agentVersion?: string; promptVersion?: string };
  readonly clock: RecorderClock;
  readonly ids: IdSource;
  readonly sink: RecordSink;
  readonly diagnostics: Diagnostics;
  readonly facts: Omit<
    ProcessRecord,
    'kind' | 'traceId' | 'spanId' | 'runId' | 'processPath' | 'formatVersion' | 'defaultSessionId'
  >;
  readonly filter: ExchangeFilter;
  /** Applied to every call record before it is hashed or written. */
  readonly redact: <R extends CallRecord>(record: R) => R;
  /** Adds the view for people to a finished exchange. */
  readonly describe: (record: CallRecord) => CallRecord;
  readonly correlator?: ExchangeCorrelator;
  readonly hostSpans?: HostSpans;
  /** Parts of the file names of preloaded packages, whose clock reads are not the program's. */
  readonly loaders?: readonly string[];
  /** Only what is run in a scope is recorded; all other code of the process stays unseen. */
  readonly isolated?: boolean;
}
