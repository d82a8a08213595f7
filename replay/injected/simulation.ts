import { originals } from '../../instrumentation/originals';
import { ReenactError } from '../../instrumentation/schema/errors';
import { describeThrown } from '../../instrumentation/thrown-value';
import { hintFor } from '../player/explain';
import type { Divergence, ReplayDocument } from '../player/report';
import { CallOverrides } from './call-overrides';
import type { Overrides } from './call-overrides';
import { explainTurn, mismatchMessage, nearestTurn } from './explain-turn';
import { recordedAnswer } from './recorded-answer';
import type { Answer } from './recorded-answer';
import { labelOf } from './recorded-turns';
import type { AskedCall, RecordedTurn } from './recorded-turns';
import { ReleaseOrder } from './release-order';
import { ReplayTally } from './replay-tally';
import type { ReplaySimulatorOptions } from './simulator-options';
import type { Agent, SimulatedAgent } from './simulated-agent';

/** Real time for which agents may do nothing visible before they are given up. */
const PATIENCE_MS = 2_000;
/** The same while the process holds a timer, a socket or another resource more than at the start. */
const WORKING_PATIENCE_MS = 30_000;

interface Stuck {
  readonly agent: SimulatedAgent;
  readonly call: AskedCall;
  readonly requestId: string;
  reject(error: unknown): void;
}

/** One run of several agents against one recording. */
export class Simulation {
  private readonly agents: readonly SimulatedAgent[];
  private readonly onDivergence: 'fail' | 'recorded';
  private readonly overrides: ReadonlyMap<SimulatedAgent, CallOverrides>;
  private readonly tally = new ReplayTally();
  private readonly order: ReleaseOrder;
  /** Calls that were never answered in the recording. */
  private readonly unanswered = new Set<Stuck>();
  private readonly recordedErrors = new Set<unknown>();
  private failed = false;
  private ended: () => void = () => undefined;
  private patience: NodeJS.Timeout | undefined;
  private readonly resources = process.getActiveResourcesInfo().length;

  constructor(agents: readonly SimulatedAgent[], options: ReplaySimulatorOptions) {
    this.agents = agents;
    this.onDivergence = options.onDivergence ?? 'fail';
    this.overrides = overridesOf(agents, options);
    this.order = new ReleaseOrder({ idle: () => this.idle() });
  }

  /** Runs the agents side by side; resolves when all have ended or can go no further. */
  async run(made: readonly Agent[]): Promise<void> {
    const allEnded = new Promise<void>((resolve) => (this.ended = resolve));
    this.agents.forEach((agent, index) => {
      const instance = made[index];
      if (instance !== undefined) agent.connect(instance, (call, requestId) => this.ask(agent, call, requestId));
    });
    this.agents.forEach((agent, index) => void this.drive(agent, made[index]));
    this.order.touch();
    await allEnded;
    originals.clearTimeout(this.patience);
  }

  private async drive(agent: SimulatedAgent, instance: Agent | undefined): Promise<void> {
    try {
      await instance?.run();
    } catch (error) {
      this.failed = true;
      // An error that was recorded, or that explains itself in the report, ends the agent as it should.
      if (!this.isExplained(error)) this.tally.add(crashed(agent, error));
    }
    agent.finished = true;
    if (this.agents.every((other) => other.finished)) this.ended();
    else this.order.touch();
  }

  private isExplained(error: unknown): boolean {
    let at = error;
    for (let depth = 0; depth < 16 && at !== undefined && at !== null; depth++) {
      if (this.recordedErrors.has(at) || at instanceof ReenactError) return true;
      at = (at as { cause?: unknown }).cause;
    }
    return false;
  }

  private async ask(agent: SimulatedAgent, call: AskedCall, requestId: string): Promise<unknown> {
    const recorded = this.find(agent, call, requestId);
    agent.turns.claim(recorded);
    const { issuedMs, completedMs } = momentsOf(recorded);
    agent.advanceTo(issuedMs);
    await new Promise<void>((resolve) => {
      this.order.add(recorded.completed, () => {
        agent.advanceTo(completedMs);
        resolve();
      });
    });
    const override = await this.overrides.get(agent)?.answer(call, recorded, false);
    return this.give(override ?? recordedAnswer(recorded.turn, false), { agent, call, requestId });
  }

  private give(answer: Answer, asked: Omit<Stuck, 'reject'>): unknown {
    if (answer.kind === 'value') return answer.value;
    if (answer.kind === 'error') {
      this.recordedErrors.add(answer.error);
      throw answer.error;
    }
    return new Promise((_resolve, reject) => {
      this.unanswered.add({ ...asked, reject });
      this.order.touch();
    });
  }

  /** The recording of a request id, its content compared. Counts how the call went. */
  private find(agent: SimulatedAgent, call: AskedCall, requestId: string): RecordedTurn {
    const overrides = this.overrides.get(agent);
    const place =
      agent.withId(requestId).find((recorded) => !recorded.isUsed) ?? this.observation(agent, call, requestId);
    if (place?.turn.type !== call.type) throw this.unknown(agent, call, requestId);
    if (place.asksTheSame(call)) {
      const overridden = overrides?.isSpecific(place) === true || overrides?.coversEvery(call) === true;
      this.tally.used(place, overridden ? 'overridden' : 'exact');
      return place;
    }
    const found = { reference: place, override: overrides?.lastUsed };
    if (overrides?.isSpecific(place) === true) this.tally.used(place, 'overridden');
    else if (this.onDivergence === 'recorded') {
      this.tally.used(place, 'relaxed');
      this.tally.add(explainTurn('relaxed', call, found));
    } else {
      this.tally.add(named(explainTurn('diverged', call, found), agent, requestId));
      throw new ReenactError('REPLAY_MISMATCH', `${agent.id}, request ${requestId}: ${mismatchMessage(call, place)}`);
    }
    return place;
  }

  /** Observations of a log have no request id of their own: they are found by key, in order. */
  private observation(agent: SimulatedAgent, call: AskedCall, requestId: string): RecordedTurn | undefined {
    if (call.type !== 'observation' || agent.withId(requestId).length > 0) return undefined;
    const unnamed = (agent.recorded.log.observations ?? []).every((entry) => entry.requestId === undefined);
    return unnamed ? agent.turns.match(call) : undefined;
  }

  private unknown(agent: SimulatedAgent, call: AskedCall, requestId: string): ReenactError {
    const known = agent.withId(requestId);
    const reference = known[0] ?? nearestTurn(call, agent.turns.unused());
    const override = this.overrides.get(agent)?.lastUsed;
    const divergence = explainTurn('diverged', call, { reference, override });
    this.tally.add(named({ ...divergence, rule: 'request_id' }, agent, requestId));
    const asked = `${agent.id} asks ${labelOf(call)} as request ${requestId}`;
    if (known.length > 0 && known.every((recorded) => recorded.isUsed))
      return new ReenactError(
        'REPLAY_EXHAUSTED',
        `${asked}, which was recorded ${known.length} time(s) and is used up`,
      );
    if (known.length > 0 && reference !== undefined)
      return new ReenactError('REPLAY_MISMATCH', `${asked}, which was recorded as ${reference.placedLabel}`);
    const other = this.agents.find((candidate) => candidate !== agent && candidate.withId(requestId).length > 0);
    const hint =
      other !== undefined
        ? `; it is a request of ${other.id}`
        : reference === undefined
          ? '; no recording is left'
          : `; the nearest is request ${reference.turn.turnId}, ${reference.placedLabel}`;
    return new ReenactError('REPLAY_MISMATCH', `${asked}, which was not recorded${hint}`);
  }

  /**
   * Nothing waits for its turn, yet agents run on: those whose question was never answered are told so by name. Others
   * may be at work outside the recording, so they get a moment of real time.
   */
  private idle(): void {
    if (this.agents.every((agent) => agent.finished)) return;
    this.wait(0);
    // A call that was open at the end of the recording is the end of its agent, unless others still work.
    const open = this.agents.filter((agent) => !agent.finished);
    if (open.every((agent) => [...this.unanswered].some((stuck) => stuck.agent === agent))) this.rejectUnanswered();
  }

  private wait(waitedMs: number): void {
    originals.clearTimeout(this.patience);
    // A timer still counts as a resource while its callback runs, hence the turn of the loop in between.
    this.patience = originals.setTimeout(() => void originals.setImmediate(() => this.look(waitedMs)), PATIENCE_MS);
  }

  private look(waitedMs: number): void {
    if (this.agents.every((agent) => agent.finished)) return;
    const working = process.getActiveResourcesInfo().length > this.resources;
    if (working && waitedMs < WORKING_PATIENCE_MS) this.wait(waitedMs + PATIENCE_MS);
    else this.giveUp();
  }

  private rejectUnanswered(): void {
    for (const { agent, call, requestId, reject } of this.unanswered) {
      if (agent.finished) continue;
      const error = new ReenactError(
        'REPLAY_STUCK',
        `${agent.id} waits for ${labelOf(call)}, request ${requestId}, which was never answered in the recording`,
      );
      this.tally.add(stuck(agent, error.message));
      reject(error);
    }
    this.unanswered.clear();
  }

  private giveUp(): void {
    if (this.unanswered.size > 0) return this.rejectUnanswered();
    this.failed = true;
    for (const agent of this.agents) {
      if (!agent.finished)
        this.tally.add(stuck(agent, `${agent.id} waits for something that the recording does not hold`));
    }
    this.ended();
  }

  document(about: { ref: string; runId: string }): ReplayDocument {
    return this.tally.document({
      ...about,
      logs: this.agents.map((agent) => agent.recorded.log),
      turns: this.agents.map((agent) => agent.turns),
      causal: true,
      exitCode: this.failed ? 1 : 0,
      replayLogs: this.agents.map((agent) =>
        agent.toLog({ runId: about.runId, replayOf: agent.recorded.log.runId ?? agent.recorded.log.sessionId }),
      ),
    });
  }
}

function momentsOf({ turn }: RecordedTurn): { issuedMs: number; completedMs: number } {
  const issuedMs = Date.parse(turn.timestamp) || 0;
  return { issuedMs, completedMs: issuedMs + Math.max(turn.durationMs, 0) };
}

function named(divergence: Divergence, agent: SimulatedAgent, requestId: string): Divergence {
  return { ...divergence, name: `${divergence.name} (${agent.id}, request ${requestId})` };
}

function crashed(agent: SimulatedAgent, error: unknown): Divergence {
  const { name, message } = describeThrown(error);
  return {
    ...stuck(agent, `${name}: ${message}`),
    rule: 'agent',
    expected: 'the agent runs to its end',
    cause: 'the agent threw an error that was not recorded',
    hint: 'Look at the error, or at the first divergence if there is one before it.',
    ...(error instanceof Error && error.stack !== undefined && { stack: error.stack }),
  };
}

function stuck(agent: SimulatedAgent, what: string): Divergence {
  return {
    kind: 'diverged',
    turn: null,
    rule: 'stuck',
    path: '',
    expected: 'every call has an answer',
    actual: what,
    nearest: null,
    cause: 'deadlock: nothing recorded can let the agent go on',
    hint: hintFor('diverged'),
    name: `agent ${agent.id}`,
  };
}

/** Each agent has the overrides that name something of its own; a key that names nothing of anyone is an error. */
function overridesOf(
  agents: readonly SimulatedAgent[],
  options: ReplaySimulatorOptions,
): Map<SimulatedAgent, CallOverrides> {
  const fitting = new Map(agents.map((agent) => [agent, { toolOverrides: {}, llmOverrides: {} } as OverrideSets]));
  for (const kind of ['toolOverrides', 'llmOverrides'] as const) {
    for (const [key, value] of Object.entries(options[kind] ?? {})) {
      const errors = agents.flatMap((agent) => {
        try {
          const one = { [kind]: Object.fromEntries([[key, value]]) };
          new CallOverrides(agent.turns, one);
          const sets = fitting.get(agent);
          if (sets !== undefined) sets[kind] = { ...sets[kind], ...one[kind] };
          return [];
        } catch (error) {
          return [error];
        }
      });
      if (errors.length === agents.length) throw errors[0];
    }
  }
  return new Map(agents.map((agent) => [agent, new CallOverrides(agent.turns, fitting.get(agent) ?? {})]));
}

type OverrideSets = { toolOverrides: Overrides; llmOverrides: Overrides };
