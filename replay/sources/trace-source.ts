import type { Recording } from '../../instrumentation/schema/records';

/** Which recordings to look through. */
export interface SourceQuery {
  /** Epoch milliseconds. */
  readonly since?: number;
  readonly until?: number;
  /** `service.name` of the recorded program. */
  readonly service?: string;
  /** Most traces asked for of each service of a backend. */
  readonly limit?: number;
}

/** A place that recordings come from. */
export interface TraceSource {
  readonly id: string;
  /** As the person wrote it, for messages. */
  readonly name: string;
  /** Where a log from here counts as coming from: only the local store is trusted to name a command. */
  readonly origin: 'store' | 'file' | 'backend';
  /** The runs that it holds, oldest first where it knows. */
  list(query?: SourceQuery): AsyncIterable<Recording>;
  /** The runs in which `ref` is a run id, a session id or a trace id; `last` is the newest that was not a replay. */
  fetch(ref: string): Promise<Recording[]>;
}

/** Whether `ref` names this run, or something in it. */
export function holdsRef(recording: Recording, ref: string): boolean {
  return (
    recording.runId === ref ||
    recording.calls.some((call) => call.sessionId === ref || call.traceId === ref) ||
    recording.sessions.some((session) => session.sessionId === ref || session.traceId === ref) ||
    recording.processes.some((process) => process.traceId === ref)
  );
}

export function isReplay(recording: Recording): boolean {
  return recording.processes.some((process) => process.replayOf !== undefined);
}

/** When the run began; calls say it when the process's own record is lost. */
export function startOf(recording: Recording): number {
  const starts = [...recording.processes, ...recording.sessions, ...recording.calls].map((record) => record.startMs);
  return starts.reduce((a, b) => Math.min(a, b), Infinity);
}

/** The newest run with calls that was not a replay. */
export function newest(recordings: readonly Recording[]): Recording[] {
  let last: Recording | undefined;
  for (const recording of recordings) {
    if (recording.calls.length === 0 || isReplay(recording)) continue;
    if (last === undefined || startOf(recording) >= startOf(last)) last = recording;
  }
  return last === undefined ? [] : [last];
}

/** Those of the given runs that `ref` names. */
export function selectRuns(recordings: readonly Recording[], ref: string): Recording[] {
  return ref === 'last' ? newest(recordings) : recordings.filter((recording) => holdsRef(recording, ref));
}
