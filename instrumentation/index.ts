/** Everything exported here is public. */
export { session, tool, tools, observe, decision, outcome, markFailure } from './api';
export type { OutcomeDetails, SessionOptions } from './runtime';
export type { ExecutionLog, ExecutionTurn } from './schema/execution-log';
export { RecordingClient } from './recording-client';
export type { LogFields, RecordingClientOptions, ToolArguments, ToolExecutor } from './recording-client';
export type { LlmClient, Message, MessageParams } from './llm-client';
export { ReenactError } from './schema/errors';
export type { ErrorCode } from './schema/errors';
