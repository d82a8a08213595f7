import { IdSource } from '../../instrumentation/ids';
import { originals } from '../../instrumentation/originals';
import { ReenactError } from '../../instrumentation/schema/errors';
import type { ReplayDocument } from '../player/report';

import { readAgents } from './event-source';
import type { SimulationSource } from './event-source';
import { SimulatedAgent } from './simulated-agent';
import type { Agent, AgentInit } from './simulated-agent';
import { Simulation } from './simulation';
import type { ReplaySimulatorOptions } from './simulator-options';

export type AgentFactory = (init: AgentInit) => Agent;

/**
 * Replays a recording of one or several agents to agents that take their handlers by injection. Requests are found by
 * request id, their content is compared, and answers come in the recorded order across all agents.
 *
 * @example
 * const report = await new ReplaySimulator('swarm.events.jsonl').replay((init) => new MyAgent(init));
 * console.log(report.faithful, report.divergences);
 */
export class ReplaySimulator {
  private readonly source: SimulationSource;
  private readonly options: ReplaySimulatorOptions;

  /** @throws ReenactError UNKNOWN_POLICY */
  constructor(source: SimulationSource, options: ReplaySimulatorOptions = {}) {
    this.source = source;
    this.options = options;
    const policy = options.onDivergence ?? 'fail';
    if (policy !== 'fail' && policy !== 'recorded')
      throw new ReenactError('UNKNOWN_POLICY', `unknown onDivergence ${JSON.stringify(policy)}`, {
        hint: 'Use fail or recorded.',
      });
  }

  /**
   * Makes every agent of the recording, runs them side by side, and resolves when all have ended or can go no further.
   * What an agent throws does not reject: it stands in the document, whose `program.exitCode` is then 1.
   *
   * @throws ReenactError FILE_NOT_FOUND, EVENTS_INVALID, LOG_EMPTY, LOG_INVALID, LOG_HAS_NO_CALLS, SET_INVALID,
   * TURN_NOT_FOUND; and what the factory throws
   */
  async replay(agentFactory: AgentFactory): Promise<ReplayDocument> {
    const recorded = await readAgents(this.source);
    const agents = recorded.map((agent) => new SimulatedAgent(agent));
    const simulation = new Simulation(agents, this.options);
    const made = agents.map((agent) => agentFactory({ ...agent.init }));
    await simulation.run(made);
    const runId = new IdSource().runId(originals.dateNow());
    return simulation.document({ ref: typeof this.source === 'string' ? this.source : 'simulation', runId });
  }
}
