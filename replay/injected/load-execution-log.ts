import { readConfig } from '../../instrumentation/config';
import type { ExecutionLog } from '../../instrumentation/schema/execution-log';
import { requireOne, resolveRef } from '../log/resolve-ref';

/**
 * Loads one log, named as on the command line: a `.jsonl` file (`#n` or `#sessionId` for one of several), a session id,
 * a trace id, a run id, or `last`; from the local store, or from the source that `from` names (`jaeger=URL`, …).
 *
 * @example
 * const log = await loadExecutionLog('fixtures/escalated.log.jsonl');
 * const other = await loadExecutionLog('customer-42', { from: 'jaeger=http://localhost:16686' });
 *
 * @throws ReenactError REF_NOT_FOUND, REF_AMBIGUOUS, FILE_NOT_FOUND, LOG_INVALID, LOG_TAMPERED, UNKNOWN_SOURCE,
 * SOURCE_UNREACHABLE
 */
export async function loadExecutionLog(ref: string, options: { from?: string } = {}): Promise<ExecutionLog> {
  return requireOne(await loadLogs(ref, options));
}

/** All logs that a reference names. */
export async function loadLogs(ref: string, { from }: { from?: string } = {}): Promise<ExecutionLog[]> {
  const { store } = readConfig();
  return (await resolveRef(ref, { store, ...(from !== undefined && { from }) })).logs;
}

/** The logs that an option names or is. */
export async function logsOf({
  executionLog,
}: {
  executionLog: ExecutionLog | readonly ExecutionLog[] | string;
}): Promise<readonly ExecutionLog[]> {
  if (typeof executionLog === 'string') return loadLogs(executionLog);
  return Array.isArray(executionLog) ? (executionLog as ExecutionLog[]) : [executionLog as ExecutionLog];
}
