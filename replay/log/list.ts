import { readRun } from '../../exporter/local-store';
import type { ExecutionLog } from '../../instrumentation/schema/execution-log';
import type { SourceQuery, TraceSource } from '../sources/trace-source';
import { buildLogs } from './build-log';

/** A row of the document of `reenact list`. */
export interface ListRow {
  sessionId: string;
  runId: string;
  traceIds: string[];
  agentId: string;
  agentVersion: string;
  promptVersion: string;
  startedAt: string;
  durationMs: number;
  turns: number;
  llmCalls: number;
  toolCalls: number;
  outcome: ExecutionLog['outcome'] | null;
  gaps: number;
  /** Why the conversation was marked as failed. */
  failure?: string;
  /** Set for the log of a replay. */
  replayOf?: string;
}

/** The row of one log. */
export function listRow(log: ExecutionLog): ListRow {
  const count = (type: string): number => log.turns.filter((turn) => turn.type === type).length;
  return {
    sessionId: log.sessionId,
    runId: log.runId ?? '',
    traceIds: log.traceIds ?? [],
    agentId: log.agentId ?? '',
    agentVersion: log.agentVersion,
    promptVersion: log.promptVersion,
    startedAt: log.startedAt,
    durationMs: log.durationMs ?? log.turns.reduce((sum, turn) => sum + turn.durationMs, 0),
    turns: log.turns.length,
    llmCalls: count('llm_call'),
    toolCalls: count('tool_call'),
    outcome: log.outcome ?? null,
    gaps: log.gaps?.length ?? 0,
    ...(typeof log.metadata?.['failure'] === 'string' && { failure: log.metadata['failure'] }),
    ...(log.replayOf !== undefined && { replayOf: log.replayOf }),
  };
}

/** Rows of every session with calls that a source holds, oldest first. Replays are logs of their own and stand in it. */
export async function listLogs(source: TraceSource, query: SourceQuery = {}): Promise<ListRow[]> {
  const rows: ListRow[] = [];
  for await (const recording of source.list(query)) rows.push(...buildLogs(recording).map(listRow));
  return rows.sort((a, b) => (a.startedAt < b.startedAt ? -1 : a.startedAt > b.startedAt ? 1 : 0));
}

/** Rows of one run of the local store. @throws ReenactError REF_NOT_FOUND, STORE_UNREADABLE */
export async function readRunRows(store: string, runId: string): Promise<ListRow[]> {
  return buildLogs(await readRun(store, runId)).map(listRow);
}
