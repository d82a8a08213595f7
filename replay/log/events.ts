import type { ExecutionLog, ExecutionTurn } from '../../instrumentation/schema/execution-log';
import { ReenactError } from '../../instrumentation/schema/errors';
import { replaceFile, type ReplaceOptions } from './atomic-file';
import { Checked, isShallow, MAX_DEPTH } from './checked';
import { readLines } from './json-lines';

export const EVENT_TYPES = [
  'agent_init',
  'llm_request',
  'llm_response',
  'tool_request',
  'tool_response',
  'env_observation',
  'agent_decision',
] as const;

export type AgentEventType = (typeof EVENT_TYPES)[number];

/** One line of a stream of structured events; docs/reference/structured-events.md. */
export interface AgentEvent {
  /** ISO 8601. */
  timestamp: string;
  request_id: string;
  agent_id: string;
  event_type: AgentEventType;
  payload: { [key: string]: unknown };
  /** Written when one agent id stands for several sessions of the stream. */
  session_id?: string;
}

/** The same logs as a stream of events, all agents in one order of time. */
export function logsToEvents(logs: readonly ExecutionLog[]): AgentEvent[] {
  const ids = new RequestIds(logs);
  const timed = logs.flatMap((log) => eventsOf(log, ids));
  return timed.sort((a, b) => a.ms - b.ms || a.rank - b.rank).map(({ event }) => event);
}

interface TimedEvent {
  readonly ms: number;
  /** Breaks ties of time: the order in which a log has its entries. */
  readonly rank: number;
  readonly event: AgentEvent;
}

/** Turn ids are unique in a log; in a stream of several logs the session is put before them. */
class RequestIds {
  private readonly several: boolean;
  private readonly sharedAgents: ReadonlySet<string>;

  constructor(logs: readonly ExecutionLog[]) {
    this.several = logs.length > 1;
    const sessions = new Map<string, Set<string>>();
    for (const log of logs) {
      for (const agent of agentsOf(log)) sessions.set(agent, (sessions.get(agent) ?? new Set()).add(log.sessionId));
    }
    this.sharedAgents = new Set([...sessions].filter(([, set]) => set.size > 1).map(([agent]) => agent));
  }

  of(log: ExecutionLog, id: string): string {
    return this.several && !id.startsWith(`${log.sessionId}/`) ? `${log.sessionId}/${id}` : id;
  }

  session(log: ExecutionLog, agent: string): { session_id?: string } {
    return this.sharedAgents.has(agent) ? { session_id: log.sessionId } : {};
  }
}

const agentOf = (log: ExecutionLog, agentId: string | undefined): string => agentId ?? log.agentId ?? log.sessionId;

function agentsOf(log: ExecutionLog): Set<string> {
  const entries = [...log.turns, ...(log.observations ?? []), ...(log.decisions ?? [])];
  const agents = new Set(entries.map((entry) => agentOf(log, entry.agentId)));
  return agents.size === 0 ? new Set([agentOf(log, undefined)]) : agents;
}

function eventsOf(log: ExecutionLog, ids: RequestIds): TimedEvent[] {
  const events: TimedEvent[] = [];
  let rank = 0;
  const add = (ms: number, agent: string, rest: Pick<AgentEvent, 'request_id' | 'event_type' | 'payload'>): void => {
    const { request_id, event_type, payload } = rest;
    const timestamp = new Date(ms).toISOString();
    const event = { timestamp, request_id, agent_id: agent, event_type, payload, ...ids.session(log, agent) };
    events.push({ ms, rank: rank++, event });
  };
  const started = Date.parse(log.startedAt) || 0;
  for (const agent of agentsOf(log)) {
    const payload = initPayload(log);
    add(started, agent, { request_id: ids.of(log, `init-${agent}`), event_type: 'agent_init', payload });
  }
  for (const turn of log.turns) {
    const [kind, agent] = [turn.type === 'llm_call' ? 'llm' : 'tool', agentOf(log, turn.agentId)] as const;
    const request_id = ids.of(log, turn.turnId);
    const start = Math.max(started, Date.parse(turn.timestamp) || 0);
    add(start, agent, { request_id, event_type: `${kind}_request`, payload: turn.request });
    if (Object.keys(turn.response).length > 0 || turn.outcome !== 'open')
      add(start + turn.durationMs, agent, {
        request_id,
        event_type: `${kind}_response`,
        payload: responsePayload(turn),
      });
  }
  for (const [index, { timestamp, key, value, error, agentId, requestId }] of (log.observations ?? []).entries()) {
    const request_id = requestId ?? ids.of(log, `observation-${index + 1}`);
    const payload = error === undefined ? { key, value: value ?? null } : { key, error };
    add(Date.parse(timestamp) || started, agentOf(log, agentId), {
      request_id,
      event_type: 'env_observation',
      payload,
    });
  }
  for (const [index, { timestamp, name, data, agentId, requestId }] of (log.decisions ?? []).entries()) {
    const request_id = requestId ?? ids.of(log, `decision-${index + 1}`);
    add(Date.parse(timestamp) || started, agentOf(log, agentId), {
      request_id,
      event_type: 'agent_decision',
      payload: { name, data: data ?? null },
    });
  }
  return events;
}

/** An LLM call that ended without an answer has only the error of its connection. */
function responsePayload(turn: ExecutionTurn): { [key: string]: unknown } {
  if (Object.keys(turn.response).length > 0 || turn.error === undefined) return turn.response;
  return { error: turn.error };
}

function initPayload(log: ExecutionLog): { [key: string]: unknown } {
  const { rngSeed, ...metadata } = log.metadata ?? {};
  return {
    session_id: log.sessionId,
    agent_version: log.agentVersion,
    prompt_version: log.promptVersion,
    ...(rngSeed !== undefined && { rng_seed: rngSeed }),
    ...(log.outcome !== undefined && { outcome: log.outcome }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  };
}

/**
 * Checks that a parsed value is an event.
 * @throws ReenactError EVENTS_INVALID
 */
export function checkEvent(value: unknown, place: string): AgentEvent {
  const event = new Checked(value, place, 'EVENTS_INVALID');
  if (!isShallow(value)) throw new ReenactError('EVENTS_INVALID', `${place} nests deeper than ${MAX_DEPTH} levels`);
  if (Number.isNaN(Date.parse(event.string('timestamp'))))
    throw new ReenactError('EVENTS_INVALID', `${place}.timestamp is not a time`);
  if (event.value['event_type'] === 'tool_request') event.object('payload').string('name');
  return {
    timestamp: event.string('timestamp'),
    request_id: event.string('request_id'),
    agent_id: event.string('agent_id'),
    event_type: event.oneOf('event_type', EVENT_TYPES),
    payload: event.object('payload').value,
    ...(event.has('session_id') && { session_id: event.string('session_id') }),
  };
}

/**
 * Reads a file of events (`.gz` too) one at a time.
 * @throws ReenactError FILE_NOT_FOUND, EVENTS_INVALID, LOG_EMPTY
 */
export async function* readEvents(path: string): AsyncGenerator<AgentEvent> {
  let count = 0;
  for await (const { text, number } of readLines(path, 'EVENTS_INVALID')) {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (cause) {
      throw new ReenactError('EVENTS_INVALID', `${path}:${number} is not JSON`, { cause });
    }
    count += 1;
    yield checkEvent(value, `${path}:${number}`);
  }
  if (count === 0) throw new ReenactError('LOG_EMPTY', `${path} is empty`);
}

/** Writes events as JSON lines. @throws ReenactError FILE_EXISTS, FILE_NOT_WRITABLE */
export async function writeEvents(
  path: string,
  events: Iterable<AgentEvent>,
  options: ReplaceOptions = {},
): Promise<void> {
  await replaceFile(
    path,
    (async function* () {
      for (const event of events) yield `${JSON.stringify(event)}\n`;
    })(),
    options,
  );
}
