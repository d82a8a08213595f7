/** Everything exported here is public. */
export { session, tool, tools, observe, decision, outcome, markFailure } from './api';
export type { OutcomeDetails, SessionOptions } from './runtime';
export type { ExecutionLog, ExecutionTurn } from './schema/execution-log';
export { ReenactError } from './schema/errors';
export type { ErrorCode } from './schema/errors';
