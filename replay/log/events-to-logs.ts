import type { ExecutionLog, ExecutionTurn } from '../../instrumentation/schema/execution-log';
import type { Gap } from '../../instrumentation/schema/records';
import type { AgentEvent } from './events';
import { isObject, type JsonObject } from './checked';

/**
 * Puts a stream of events, several agents interleaved, together into one log per agent, and per session of an agent
 * when the events name sessions. Requests and responses are paired by `request_id`; what has no partner is a gap.
 */
export async function eventsToLogs(events: AsyncIterable<AgentEvent> | Iterable<AgentEvent>): Promise<ExecutionLog[]> {
  const drafts = new Map<string, LogDraft>();
  const current = new Map<string, string>();
  for await (const event of events) {
    const session = sessionOf(event, current);
    const key = JSON.stringify([event.agent_id, session]);
    let draft = drafts.get(key);
    if (draft === undefined) {
      draft = new LogDraft(event, session ?? event.agent_id);
      drafts.set(key, draft);
    }
    draft.add(event);
  }
  return [...drafts.values()].map((draft) => draft.finish());
}

/** The session that an event belongs to: its own, else the one that its agent began last. */
function sessionOf(event: AgentEvent, current: Map<string, string>): string | undefined {
  const named = event.event_type === 'agent_init' ? event.payload['session_id'] : undefined;
  const session = event.session_id ?? (typeof named === 'string' ? named : undefined);
  if (session !== undefined) current.set(event.agent_id, session);
  return session ?? current.get(event.agent_id);
}

interface Waiting {
  readonly turn: ExecutionTurn;
  readonly startMs: number;
}

class LogDraft {
  private readonly log: ExecutionLog;
  private readonly waiting = new Map<string, Waiting[]>();
  private readonly gaps: Gap[] = [];
  private lastMs: number;

  constructor(first: AgentEvent, sessionId: string) {
    this.lastMs = Date.parse(first.timestamp);
    this.log = {
      sessionId,
      agentVersion: '',
      promptVersion: '',
      startedAt: new Date(first.timestamp).toISOString(),
      turns: [],
      agentId: first.agent_id,
    };
  }

  add(event: AgentEvent): void {
    this.lastMs = Math.max(this.lastMs, Date.parse(event.timestamp));
    switch (event.event_type) {
      case 'agent_init':
        return this.init(event.payload);
      case 'llm_request':
      case 'tool_request':
        return this.request(event);
      case 'llm_response':
      case 'tool_response':
        return this.response(event);
      case 'env_observation':
        return this.observation(event);
      case 'agent_decision':
        return this.decision(event);
    }
  }

  finish(): ExecutionLog {
    for (const { turn } of [...this.waiting.values()].flat()) {
      turn.outcome = 'open';
      this.gap('UNPAIRED_REQUEST', `${turn.type} ${turn.turnId} has no response`);
    }
    const durationMs = Math.max(0, this.lastMs - Date.parse(this.log.startedAt));
    return { ...this.log, durationMs, ...(this.gaps.length > 0 && { gaps: this.gaps }) };
  }

  private gap(code: string, message: string): void {
    this.gaps.push({ code, message, sessionId: this.log.sessionId });
  }

  private init(payload: JsonObject): void {
    const { agent_version, prompt_version, rng_seed, outcome, metadata, ...others } = payload;
    const rest = Object.entries(others).filter(([name]) => name !== 'session_id' && name !== '__proto__');
    if (typeof agent_version === 'string') this.log.agentVersion = agent_version;
    if (typeof prompt_version === 'string') this.log.promptVersion = prompt_version;
    if (outcome === 'resolved' || outcome === 'escalated' || outcome === 'abandoned') this.log.outcome = outcome;
    const merged = {
      ...this.log.metadata,
      ...(isObject(metadata) && metadata),
      ...Object.fromEntries(rest),
      ...(rng_seed !== undefined && { rngSeed: rng_seed }),
    };
    if (Object.keys(merged).length > 0) this.log.metadata = merged;
  }

  private request(event: AgentEvent): void {
    const turn: ExecutionTurn = {
      turnId: event.request_id,
      timestamp: new Date(event.timestamp).toISOString(),
      type: event.event_type === 'llm_request' ? 'llm_call' : 'tool_call',
      request: event.payload,
      response: {},
      durationMs: 0,
      agentId: event.agent_id,
    };
    this.log.turns.push(turn);
    const key = `${turn.type} ${event.request_id}`;
    this.waiting.set(key, [...(this.waiting.get(key) ?? []), { turn, startMs: Date.parse(event.timestamp) }]);
  }

  private response(event: AgentEvent): void {
    const type = event.event_type === 'llm_response' ? 'llm_call' : 'tool_call';
    const key = `${type} ${event.request_id}`;
    const [waiting, ...later] = this.waiting.get(key) ?? [];
    if (waiting === undefined) {
      this.gap('UNPAIRED_RESPONSE', `${event.event_type} ${event.request_id} answers no request`);
      return;
    }
    if (later.length === 0) this.waiting.delete(key);
    else this.waiting.set(key, later);
    waiting.turn.response = event.payload;
    waiting.turn.durationMs = Math.max(0, Date.parse(event.timestamp) - waiting.startMs);
    const failed = Object.hasOwn(event.payload, 'error') && event.payload['error'] !== null;
    waiting.turn.outcome = failed && !Object.hasOwn(event.payload, 'result') ? 'error' : 'ok';
  }

  private observation(event: AgentEvent): void {
    const { key, value, error } = event.payload;
    (this.log.observations ??= []).push({
      timestamp: new Date(event.timestamp).toISOString(),
      key: typeof key === 'string' ? key : JSON.stringify(key ?? ''),
      ...(error === undefined ? { value: value ?? null } : { error }),
      agentId: event.agent_id,
      requestId: event.request_id,
    });
  }

  private decision(event: AgentEvent): void {
    const { name, data } = event.payload;
    (this.log.decisions ??= []).push({
      timestamp: new Date(event.timestamp).toISOString(),
      name: typeof name === 'string' ? name : JSON.stringify(name ?? ''),
      data: data ?? null,
      agentId: event.agent_id,
      requestId: event.request_id,
    });
  }
}
