import { Prng } from '../../instrumentation/prng';
import type { ExecutionLog } from '../../instrumentation/schema/execution-log';
import { encodeTyped, toPlainJson } from '../../instrumentation/schema/typed-json';
import { TurnLog } from '../../instrumentation/turn-log';
import type { OpenTurn } from '../../instrumentation/turn-log';
import type { RecordedAgent } from './event-source';
import { RecordedTurns } from './recorded-turns';
import type { AskedCall, RecordedTurn } from './recorded-turns';

export type LlmHandler = (requestId: string, prompt: unknown) => Promise<unknown>;
export type ToolHandler = (requestId: string, name: string, args: unknown) => Promise<unknown>;
export type EnvHandler = (requestId: string, key: string) => Promise<unknown>;

/** An agent that takes its handlers by injection. */
export interface Agent {
  registerLlmHandler?(handler: LlmHandler): void;
  registerToolHandler?(handler: ToolHandler): void;
  registerEnvHandler?(handler: EnvHandler): void;
  /** Gets a clock in epoch milliseconds that stands where the recording stands. */
  registerClock?(now: () => number): void;
  /** Gets a source of random numbers in [0, 1), seeded with the `rng_seed` of the recording. */
  registerRandom?(random: () => number): void;
  run(): Promise<void> | void;
}

export interface AgentInit {
  agentId: string;
  /** The `rng_seed` of the recording; absent when there was none. */
  rngSeed?: number;
}

type Ask = (call: AskedCall, requestId: string) => Promise<unknown>;

/** One agent of a simulation: its part of the recording, its clock, and the log of what it does now. */
export class SimulatedAgent {
  readonly id: string;
  readonly init: AgentInit;
  readonly turns: RecordedTurns;
  readonly recorded: RecordedAgent;
  private readonly byId = new Map<string, RecordedTurn[]>();
  private readonly log: TurnLog;
  private readonly observations: NonNullable<ExecutionLog['observations']> = [];
  private nowMs: number;
  finished = false;

  constructor(recorded: RecordedAgent) {
    this.recorded = recorded;
    this.id = recorded.agentId;
    this.init = { agentId: recorded.agentId, ...(recorded.rngSeed !== undefined && { rngSeed: recorded.rngSeed }) };
    this.turns = new RecordedTurns(recorded.entries);
    for (const turn of this.turns.all) {
      const id = turn.turn.turnId;
      const same = this.byId.get(id);
      if (same === undefined) this.byId.set(id, [turn]);
      else same.push(turn);
    }
    this.log = new TurnLog({ ...recorded.log, agentId: recorded.agentId });
    this.nowMs = recorded.startMs;
  }

  /** The recordings of a request id, in order. */
  withId(requestId: string): readonly RecordedTurn[] {
    return this.byId.get(requestId) ?? [];
  }

  /** The agent's clock goes on to a moment of the recording, never back. */
  advanceTo(ms: number): void {
    this.nowMs = Math.max(this.nowMs, ms);
  }

  /** Hands the agent its handlers. */
  connect(agent: Agent, ask: Ask): void {
    agent.registerLlmHandler?.((requestId, prompt) => {
      const request = asRequest(prompt, this.withId(String(requestId))[0]);
      return this.logged({ type: 'llm_call', request }, String(requestId), ask);
    });
    agent.registerToolHandler?.((requestId, name, args) =>
      this.logged({ type: 'tool_call', request: { name, args: plain(args) } }, String(requestId), ask),
    );
    agent.registerEnvHandler?.((requestId, key) => this.observed(String(requestId), String(key), ask));
    agent.registerClock?.(() => this.nowMs);
    const prng = new Prng(String(this.recorded.rngSeed ?? this.id));
    agent.registerRandom?.(() => prng.double());
  }

  private async logged(call: AskedCall, requestId: string, ask: Ask): Promise<unknown> {
    const type = call.type === 'tool_call' ? 'tool_call' : 'llm_call';
    const turn: OpenTurn = this.log.begin({ type, request: () => call.request, turnId: requestId });
    try {
      const answer = await ask(call, requestId);
      if (type === 'tool_call') turn.returned(answer);
      else turn.answered(answer);
      return answer;
    } catch (error) {
      if (type === 'tool_call') turn.threw(error);
      else turn.failed(error);
      throw error;
    }
  }

  private async observed(requestId: string, key: string, ask: Ask): Promise<unknown> {
    const value = await ask({ type: 'observation', request: { key } }, requestId);
    const timestamp = new Date(this.nowMs).toISOString();
    this.observations.push({ timestamp, key, value: plain(value), agentId: this.id, requestId });
    return value;
  }

  /** What the agent did in this replay. */
  toLog(fields: { [field: string]: unknown }): ExecutionLog {
    const observations = this.observations.length > 0 ? { observations: [...this.observations] } : {};
    return this.log.toLog({ ...observations, ...fields });
  }
}

function plain(value: unknown): unknown {
  return toPlainJson(encodeTyped(value).json);
}

/**
 * A prompt as the request of a turn. An agent that passes only the messages, or only a text, is compared with that
 * field of the recorded request; the other fields are then its recorder's.
 */
function asRequest(prompt: unknown, recorded: RecordedTurn | undefined): Record<string, unknown> {
  const value = plain(prompt);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  const known = recorded?.turn.type === 'llm_call' ? recorded.turn.request : {};
  const fits = (field: string): boolean =>
    Object.hasOwn(known, field) && Array.isArray(known[field]) === Array.isArray(value);
  const field = ['prompt', 'messages', 'input'].find(fits) ?? (Array.isArray(value) ? 'messages' : 'prompt');
  return { ...known, [field]: value };
}
