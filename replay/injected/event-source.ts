import { ReenactError } from '../../instrumentation/schema/errors';
import type { ExecutionLog } from '../../instrumentation/schema/execution-log';
import { checkEvent, readEvents } from '../log/events';
import type { AgentEvent } from '../log/events';
import { eventsToLogs } from '../log/events-to-logs';
import { checkLog } from '../log/log-shape';
import { verifyLog } from '../log/verify-log';
import type { RecordedEntry } from './recorded-turns';

/** Where a simulation comes from: the path of a file of JSONL events, a stream of events, or ExecutionLogs. */
export type SimulationSource = string | AsyncIterable<AgentEvent> | readonly ExecutionLog[];

/** What one agent of a recording asked and got; all agents of a source share one order of issue and completion. */
export interface RecordedAgent {
  readonly agentId: string;
  readonly rngSeed: number | undefined;
  readonly startMs: number;
  /** Turns, then observations. `turnId` is the request id. */
  readonly entries: readonly RecordedEntry[];
  readonly log: ExecutionLog;
}

/**
 * Reads the agents of a recording.
 * @throws ReenactError FILE_NOT_FOUND, EVENTS_INVALID, LOG_EMPTY, LOG_INVALID, LOG_TAMPERED, LOG_HAS_NO_CALLS
 */
export async function readAgents(source: SimulationSource): Promise<RecordedAgent[]> {
  const agents = Array.isArray(source)
    ? agentsOfLogs(source as readonly ExecutionLog[])
    : await agentsOfEvents(typeof source === 'string' ? readEvents(source) : checkedEvents(source));
  if (agents.every((agent) => agent.entries.length === 0))
    throw new ReenactError('LOG_HAS_NO_CALLS', 'the recording holds no call of any agent');
  return agents;
}

async function* checkedEvents(events: SimulationSource): AsyncGenerator<AgentEvent> {
  if (typeof events !== 'object' || !(Symbol.asyncIterator in events))
    throw new ReenactError('USAGE', 'the source is neither a path nor a stream of events nor a list of ExecutionLogs');
  let number = 0;
  for await (const event of events) yield checkEvent(event, `event ${(number += 1)}`);
}

async function agentsOfEvents(source: AsyncIterable<AgentEvent>): Promise<RecordedAgent[]> {
  const events: AgentEvent[] = [];
  for await (const event of source) events.push(event);
  // Streams over UDP come out of order; events of one millisecond keep the order in which they stand.
  events.sort((a, b) => Date.parse(a.timestamp) - Date.parse(b.timestamp));
  const places = new Map<object, number>(events.map((event, index) => [event.payload, index]));
  const observed = new Map<string, number[]>();
  events.forEach((event, index) => {
    if (event.event_type !== 'env_observation') return;
    const key = JSON.stringify([event.agent_id, event.request_id]);
    observed.set(key, [...(observed.get(key) ?? []), index]);
  });
  const logs = await eventsToLogs(events);
  return logs.map((log) =>
    agentOf(log, [
      ...log.turns.map((turn) => ({
        ...turn,
        order: { start: places.get(turn.request) ?? 0, end: places.get(turn.response) ?? null },
      })),
      ...observationsOf(log).map((entry) => {
        const at = observed.get(JSON.stringify([entry.agentId, entry.turnId]))?.shift() ?? 0;
        return { ...entry, order: { start: at, end: at } };
      }),
    ]),
  );
}

function agentOf(log: ExecutionLog, entries: RecordedEntry[]): RecordedAgent {
  const seed = log.metadata?.['rngSeed'] ?? log.metadata?.['rng_seed'];
  return {
    agentId: log.agentId ?? log.sessionId,
    rngSeed: typeof seed === 'number' ? seed : undefined,
    startMs: Date.parse(log.startedAt) || 0,
    entries,
    log,
  };
}

/** Observations in the form of turns. Without a request id of their own they are numbered. */
function observationsOf(log: ExecutionLog): RecordedEntry[] {
  return (log.observations ?? []).map(({ timestamp, key, value, error, agentId, requestId }, index) => ({
    turnId: requestId ?? `observation-${index + 1}`,
    timestamp,
    type: 'observation',
    request: { key },
    response: error === undefined ? { result: value ?? null } : { error },
    durationMs: 0,
    ...(agentId !== undefined && { agentId }),
  }));
}

interface Point {
  readonly ms: number;
  place(index: number): void;
}

function agentsOfLogs(logs: readonly ExecutionLog[]): RecordedAgent[] {
  const points: Point[] = [];
  const agents = logs.map((given) => {
    const log = checkLog(given);
    if (log.recording !== undefined) verifyLog(log);
    const entries = [...log.turns, ...observationsOf(log)].map((entry) => ({ ...entry }));
    points.push(...pointsOf(entries));
    return agentOf(log, entries);
  });
  points.sort((a, b) => a.ms - b.ms);
  points.forEach((point, index) => point.place(index));
  return agents;
}

/** The moments of one log. Its own order goes before the clock, whose milliseconds hold many moments. */
function pointsOf(entries: readonly (RecordedEntry & { order?: { start: number; end: number | null } })[]): Point[] {
  const points = entries.flatMap((entry): (Point & { own: number })[] => {
    const { order } = entry;
    const startMs = Date.parse(entry.timestamp) || 0;
    const placed = (entry.order = { start: 0, end: null as number | null });
    const start = { ms: startMs, own: order?.start ?? NaN, place: (index: number) => void (placed.start = index) };
    if (entry.outcome === 'open' || order?.end === null) return [start];
    const ms = startMs + Math.max(entry.durationMs, 0);
    return [start, { ms, own: order?.end ?? NaN, place: (index: number) => void (placed.end = index) }];
  });
  if (points.some((point) => Number.isNaN(point.own))) return points;
  points.sort((a, b) => a.own - b.own);
  let latest = 0;
  return points.map((point) => ({ ...point, ms: (latest = Math.max(latest, point.ms)) }));
}
