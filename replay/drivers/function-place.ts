import type { IdSource } from '../../instrumentation/ids';
import { isInbound } from '../player/inbound-player';
import type { SessionContext } from '../../instrumentation/context';
import type { ExecutionLog } from '../../instrumentation/schema/execution-log';
import type { Recording } from '../../instrumentation/schema/records';

/** Where in the recorded run a replayed function stands. */
export interface FunctionPlace {
  readonly processPath: string;
  readonly sessionId: string;
  /** Scope path of the session; '' for the process's own. */
  readonly scope: string;
}

/**
 * The process that made most of the calls; in it, for the log of one session, that session, unless the function begins
 * it itself.
 */
export function placeOf(recording: Recording, logs: readonly ExecutionLog[], beginsSession: boolean): FunctionPlace {
  const ids = new Set(logs.map((log) => log.sessionId));
  const counts = new Map<string, number>();
  for (const call of recording.calls)
    if (ids.has(call.sessionId)) counts.set(call.processPath, (counts.get(call.processPath) ?? 0) + 1);
  const [first] = [...counts].sort((a, b) => b[1] - a[1] || a[0].length - b[0].length);
  const processPath = first?.[0] ?? '0';
  const process = recording.processes.find((candidate) => candidate.processPath === processPath);
  const defaultId = process?.defaultSessionId ?? logs[0]?.sessionId ?? '';
  const [log] = logs;
  if (logs.length !== 1 || log === undefined || beginsSession) return { processPath, sessionId: defaultId, scope: '' };
  const session = recording.sessions.find(
    (candidate) => candidate.sessionId === log.sessionId && candidate.processPath === processPath,
  );
  return { processPath, sessionId: log.sessionId, scope: session?.scope ?? '' };
}

/** What one process did of a run. */
export function partOfProcess(recording: Recording, processPath: string): Recording {
  const own = <T extends { processPath: string }>(items: readonly T[]): T[] =>
    items.filter((item) => item.processPath === processPath);
  // What its servers were asked, and how the process ended, says nothing of a function that ran in it.
  const calls = own(recording.calls).filter((call) => call.kind !== 'observation' || !isInbound(call));
  return { ...recording, processes: own(recording.processes), calls, exits: [] };
}

/** The session that the function runs as. */
export function sessionAt(
  place: FunctionPlace,
  { log, ids, startMs }: { log?: ExecutionLog; ids: IdSource; startMs: number },
): SessionContext {
  return {
    id: place.sessionId,
    traceId: ids.traceId(),
    spanId: ids.spanId(),
    scope: place.scope,
    startMs,
    progress: { lastSeq: 0 },
    started: false,
    ended: false,
    ...(log?.agentId !== undefined && { agentId: log.agentId }),
    ...(log !== undefined && { agentVersion: log.agentVersion, promptVersion: log.promptVersion }),
  };
}
