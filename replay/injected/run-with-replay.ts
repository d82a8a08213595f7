import type { RecordingClient } from '../../instrumentation/recording-client';
import { ReenactError } from '../../instrumentation/schema/errors';
import type { ExecutionLog } from '../../instrumentation/schema/execution-log';
import { describeThrown } from '../../instrumentation/thrown-value';
import { replayCommand } from '../drivers/script';
import { requireOne } from '../log/resolve-ref';
import type { DivergencePolicy, ReplayDocument } from '../player/report';
import { checkAssertions, combineVerdicts, parseAssertion } from '../scenarios/assertions';
import type { Assertion } from '../scenarios/assertions';
import { scenarioCommand } from '../scenarios/run-scenario';
import type { Overrides } from './call-overrides';
import { logsOf } from './load-execution-log';
import { overrideTexts } from './override-texts';
import { ReplayEngine } from './replay-engine';
import { replayLogs } from './replay-function';
import type { FunctionLimits } from './replay-function';
import { ReplaySimulator } from './replay-simulator';
import type { AgentFactory } from './replay-simulator';
import type { Agent, AgentInit } from './simulated-agent';

/** A program, run in a process of its own under the preload; `node` stands for the running Node. */
export interface CommandAgent {
  readonly command: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The program is stopped after this time; 60 s without it. */
  readonly timeoutMs?: number;
}

/** A function that runs in this process under replay; everything that it imports keeps working as it does. */
export interface FunctionAgent extends FunctionLimits {
  readonly function: () => unknown;
}

/** An agent that takes its client by injection. */
export type ClientAgent = (client: RecordingClient) => unknown;

/**
 * What is replayed: a command, a function of a client, a factory or class of agents with `register…Handler` methods, or
 * a function without parameters, which runs in this process under replay. `{ client }`, `{ factory }` and `{ function }`
 * say which is meant where it cannot be seen.
 */
export type AgentUnderTest =
  | CommandAgent
  | ClientAgent
  | AgentFactory
  | (new (init: AgentInit) => Agent)
  | { readonly client: ClientAgent }
  | { readonly factory: AgentFactory }
  | FunctionAgent
  | (() => unknown);

export interface RunWithReplayOptions {
  readonly agent: AgentUnderTest;
  /** A log, several of one run, or what `loadExecutionLog` would load; for agents of a factory also a file of events. */
  readonly executionLog: ExecutionLog | readonly ExecutionLog[] | string;
  readonly toolOverrides?: Overrides;
  readonly llmOverrides?: Overrides;
  /** An object `{ type, … }`, its short form, or a function of `{ logs, report }`. Without any: no call diverges. */
  readonly assertion?: Assertion | string;
  readonly assertions?: readonly (Assertion | string)[];
  readonly onDivergence?: DivergencePolicy;
  /** JSON Pointers that do not count when the calls of a command are matched. */
  readonly ignore?: readonly string[];
}

export interface RunResult {
  readonly passed: boolean;
  /** What the assertions wanted and found, for people. */
  readonly expected: string;
  readonly actual: string;
  readonly report: ReplayDocument;
}

/** What came of a run, and what to say of it when it failed. */
interface Ran {
  readonly report: ReplayDocument;
  readonly trouble?: string;
}

const DEFAULT_TIMEOUT_MS = 60_000;
const OUTPUT_TAIL = 2_000;

/**
 * Replays a log to an agent and judges assertions: a regression test out of one recorded conversation. Divergences
 * alone do not fail it, unless no assertion is given.
 *
 * @example
 * const { passed, expected, actual } = await runWithReplay({
 *   agent: { command: ['node', 'agent.js'] },
 *   executionLog: 'fixtures/retention.log.jsonl',
 *   toolOverrides: { check_coverage: { status: 'acceptable' } },
 *   onDivergence: 'recorded',
 *   assertion: { type: 'tool_call_present', toolName: 'flag_coverage_review', calledBefore: 'offer_loyalty_discount' },
 * });
 *
 * @throws ReenactError when the log cannot be read, the agent cannot be run, or an assertion or override is invalid
 */
export async function runWithReplay(options: RunWithReplayOptions): Promise<RunResult> {
  const assertions = readAssertions(options);
  const { report, trouble } = await runAgent(options);
  const verdict = combineVerdicts(await checkAssertions(assertions, { logs: report.logs, report }));
  const actual = verdict.passed || trouble === undefined ? verdict.actual : `${verdict.actual}; ${trouble}`;
  return { passed: verdict.passed, expected: verdict.expected, actual, report };
}

function readAssertions({ assertion, assertions = [] }: RunWithReplayOptions): Assertion[] {
  const given = [...(assertion === undefined ? [] : [assertion]), ...assertions];
  const read = given.map((item) => (typeof item === 'function' ? item : parseAssertion(item)));
  return read.length > 0 ? read : [{ type: 'no_divergence' }];
}

function runAgent(options: RunWithReplayOptions): Promise<Ran> {
  const { agent } = options;
  if (typeof agent === 'object' && agent !== null) {
    if ('command' in agent) return runCommand(agent, options);
    if ('factory' in agent) return runFactory(agent.factory, options);
    if ('client' in agent) return runClient(agent.client, options);
    if ('function' in agent) return runFunction(agent, options);
  }
  if (typeof agent !== 'function')
    throw new ReenactError('USAGE', 'the agent is neither a command nor a function', {
      hint: 'Give { command: [...] }, a function of a client, or a factory of agents.',
    });
  if (isAgentClass(agent)) return runFactory((init) => new agent(init), options);
  if (agent.length === 0) return runFunction({ function: agent as () => unknown }, options);
  if (isEventFile(options.executionLog)) return runFactory(agent as AgentFactory, options);
  return runClient(agent as ClientAgent, options);
}

function isAgentClass(agent: object): agent is new (init: AgentInit) => Agent {
  return typeof (agent as { prototype?: { run?: unknown } }).prototype?.run === 'function';
}

const isEventFile = (source: unknown): source is string =>
  typeof source === 'string' && /\.events\.jsonl(\.gz)?$/.test(source);

async function runCommand(agent: CommandAgent, options: RunWithReplayOptions): Promise<Ran> {
  const logs = await logsOf(options);
  let output = '';
  const report = await replayCommand({
    logs,
    command: scenarioCommand(agent.command),
    ...(agent.cwd !== undefined && { cwd: agent.cwd }),
    ...(agent.env && { env: agent.env }),
    ...(typeof options.executionLog === 'string' && { ref: options.executionLog }),
    overrides: overrideTexts(options, logs),
    onDivergence: options.onDivergence ?? 'fail',
    ignore: options.ignore ?? [],
    output: 'capture',
    onOutput: (piece) => (output = (output + piece.toString('utf8')).slice(-OUTPUT_TAIL)),
    timeoutMs: agent.timeoutMs ?? DEFAULT_TIMEOUT_MS,
  });
  const { exitCode } = report.program;
  return exitCode === 0 ? { report } : { report, trouble: `the program exited with ${exitCode}: ${output.trim()}` };
}

async function runFunction({ function: agent, ...limits }: FunctionAgent, options: RunWithReplayOptions): Promise<Ran> {
  // A factory without parameters is known by what it makes.
  if (isEventFile(options.executionLog)) return runFactory(agent as AgentFactory, options);
  const { value, error, report } = await replayLogs(agent, { ...options, ...limits }, await logsOf(options));
  if (isAgent(value)) return runFactory(onceThen(value, agent as AgentFactory), options);
  if (report.program.exitCode === 0) return { report };
  const { name, message } = describeThrown(error);
  return { report, trouble: `the agent threw ${name}: ${message}` };
}

async function runFactory(factory: AgentFactory, options: RunWithReplayOptions): Promise<Ran> {
  const { executionLog, toolOverrides, llmOverrides } = options;
  const source = isEventFile(executionLog) ? executionLog : await logsOf(options);
  const onDivergence = options.onDivergence ?? 'fail';
  if (onDivergence !== 'fail' && onDivergence !== 'recorded') throw policyError(onDivergence, 'fail or recorded');
  const report = await new ReplaySimulator(source, {
    onDivergence,
    ...(toolOverrides && { toolOverrides }),
    ...(llmOverrides && { llmOverrides }),
  }).replay(factory);
  const crash = report.divergences.find((divergence) => divergence.rule === 'agent');
  return crash === undefined ? { report } : { report, trouble: `${crash.name}: ${String(crash.actual)}` };
}

async function runClient(agent: ClientAgent, options: RunWithReplayOptions): Promise<Ran> {
  const logs = await logsOf(options);
  const factory = agent as unknown as AgentFactory;
  // A client has one conversation; only a factory can be meant by several.
  if (logs.length > 1) return runFactory(factory, options);
  const { toolOverrides, llmOverrides, onDivergence = 'fail' } = options;
  if (onDivergence !== 'fail' && onDivergence !== 'recorded') throw policyError(onDivergence, 'fail or recorded');
  const log = requireOne(logs);
  const engine = new ReplayEngine(log, {
    onDivergence,
    ...(toolOverrides && { toolOverrides }),
    ...(llmOverrides && { llmOverrides }),
  });
  let trouble: string | undefined;
  try {
    const made = agent(Object.assign(engine.createReplayClient(), initOf(log)));
    if (isAgent(made)) return runFactory(onceThen(made, factory), options);
    await made;
  } catch (error) {
    const { name, message } = describeThrown(error);
    trouble = `the agent threw ${name}: ${message}`;
  }
  const report = engine.report();
  if (trouble === undefined) return { report };
  return { report: { ...report, program: { ...report.program, exitCode: 1 } }, trouble };
}

/** A factory is told from a function of a client by what it gives back; it finds its own parameters on the client. */
function initOf(log: ExecutionLog): AgentInit {
  const seed = log.metadata?.['rngSeed'] ?? log.metadata?.['rng_seed'];
  return { agentId: log.agentId ?? log.sessionId, ...(typeof seed === 'number' && { rngSeed: seed }) };
}

function isAgent(value: unknown): value is Agent {
  const agent = value as Partial<Agent> | null | undefined;
  return (
    typeof agent === 'object' &&
    typeof agent?.run === 'function' &&
    [agent.registerLlmHandler, agent.registerToolHandler, agent.registerEnvHandler].some((item) => item !== undefined)
  );
}

function onceThen(made: Agent, factory: AgentFactory): AgentFactory {
  let first: Agent | undefined = made;
  return (init) => {
    const agent = first ?? factory(init);
    first = undefined;
    return agent;
  };
}

function policyError(policy: string, known: string): ReenactError {
  return new ReenactError('UNKNOWN_POLICY', `onDivergence ${JSON.stringify(policy)} needs a command`, {
    hint: `For agents in this process use ${known}; ReplayEngine also knows live, with a client.`,
  });
}
