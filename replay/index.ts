/** Everything exported here is public. */
export { ReplayEngine } from './injected/replay-engine';
export type { ReplayEngineOptions } from './injected/replay-engine';
export { ReplaySimulator } from './injected/replay-simulator';
export type { AgentFactory } from './injected/replay-simulator';
export type { ReplaySimulatorOptions } from './injected/simulator-options';
export type { Agent, AgentInit, EnvHandler, LlmHandler, ToolHandler } from './injected/simulated-agent';
export type { AgentEvent, AgentEventType } from './log/events';
export { loadExecutionLog } from './injected/load-execution-log';
export { replayFunction } from './injected/replay-function';
export type { FunctionLimits, ReplayFunctionOptions } from './injected/replay-function';
export type { FunctionReplay } from './drivers/function';
export { runWithReplay } from './injected/run-with-replay';
export type {
  AgentUnderTest,
  ClientAgent,
  CommandAgent,
  FunctionAgent,
  RunResult,
  RunWithReplayOptions,
} from './injected/run-with-replay';
export type { Assertion, AssertionSpec, CustomAssertion, Evidence, Verdict } from './scenarios/assertions';
export type { Overrides } from './injected/call-overrides';
export type { InjectedPolicy, MatchStrategy } from './injected/injected-calls';
export type {
  Divergence,
  DivergenceKind,
  DivergencePolicy,
  ReplayDocument,
  ReplayDocument as ReplayReport,
} from './player/report';
export type { ExecutionLog, ExecutionTurn } from '../instrumentation/schema/execution-log';
export { ReenactError } from '../instrumentation/schema/errors';
