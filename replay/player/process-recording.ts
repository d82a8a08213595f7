import { readAmbient } from '../../instrumentation/schema/ambient-log';
import type { AmbientStream } from '../../instrumentation/schema/ambient-log';
import type {
  CallRecord,
  DecisionRecord,
  ExchangeRecord,
  ProcessRecord,
  Recording,
  SessionRecord,
} from '../../instrumentation/schema/records';
import { outsideSubstituted } from './counted-calls';
import type { FunctionCallRecord } from './recorded-calls';

/** The part of a recording that one process of the run made. */
export interface ProcessRecording {
  readonly process: ProcessRecord | undefined;
  readonly exchanges: readonly ExchangeRecord[];
  readonly functions: readonly FunctionCallRecord[];
  /** Decisions that a replay comes to again. */
  readonly decisions: readonly DecisionRecord[];
  /** Starts and ends of sessions. */
  readonly sessions: readonly SessionRecord[];
  readonly ambient: ReadonlyMap<string, AmbientStream>;
  readonly startMs: number;
  /** Absent when the process did not end in an orderly way. */
  readonly exitCode: number | undefined;
  readonly hrtimeOrigin: bigint | undefined;
  /** Calls that happened inside a call, through every level. */
  inside(spanId: string): readonly CallRecord[];
}

export function recordingOfProcess(recording: Recording, processPath: string): ProcessRecording {
  const calls = recording.calls.filter((call) => call.processPath === processPath);
  const process = recording.processes.find((candidate) => candidate.processPath === processPath);
  const children = new Map<string, CallRecord[]>();
  for (const call of calls) {
    if (call.parentSpanId === undefined) continue;
    const siblings = children.get(call.parentSpanId);
    if (siblings === undefined) children.set(call.parentSpanId, [call]);
    else siblings.push(call);
  }
  const inside = (spanId: string): CallRecord[] =>
    (children.get(spanId) ?? []).flatMap((call) => [call, ...inside(call.spanId)]);
  const pieces = recording.ambient.filter((piece) => piece.processPath === processPath).map((piece) => piece.lines);
  return {
    process,
    exchanges: calls.filter((call): call is ExchangeRecord => call.kind === 'llm' || call.kind === 'http'),
    functions: calls.filter((call): call is FunctionCallRecord => call.kind === 'tool' || call.kind === 'observation'),
    decisions: outsideSubstituted(calls).filter((call) => call.kind === 'decision'),
    sessions: recording.sessions.filter((session) => session.processPath === processPath),
    ambient: readAmbient(pieces),
    startMs: process?.startMs ?? Math.min(...calls.map((call) => call.startMs), Date.now()),
    exitCode: recording.exits.find((exit) => exit.processPath === processPath)?.exitCode,
    hrtimeOrigin: bigintOf(process?.hrtimeOrigin),
    inside,
  };
}

/** A recording is untrusted: what is no number of nanoseconds is as good as none. */
function bigintOf(text: string | undefined): bigint | undefined {
  return text !== undefined && /^\d{1,20}$/.test(text) ? BigInt(text) : undefined;
}
