import type { ExecutionLog } from '../../instrumentation/schema/execution-log';
import { replayFunction as replay } from '../drivers/function';
import type { FunctionReplay } from '../drivers/function';
import type { DivergencePolicy } from '../player/report';
import type { Overrides } from './call-overrides';
import { logsOf } from './load-execution-log';
import { overrideTexts } from './override-texts';

export interface FunctionLimits {
  /** The function is given up after this real time; 60 s without it. */
  readonly timeoutMs?: number;
  /**
   * Set it when the function makes calls or reads the clock before it begins the recorded session itself. Without it the
   * function runs as that session, whether it begins it or not.
   */
  readonly beginsSession?: boolean;
}

export interface ReplayFunctionOptions extends FunctionLimits {
  /** A log, several of one run, or what `loadExecutionLog` would load. */
  readonly executionLog: ExecutionLog | readonly ExecutionLog[] | string;
  readonly toolOverrides?: Overrides;
  readonly llmOverrides?: Overrides;
  readonly onDivergence?: DivergencePolicy;
  /** JSON Pointers that do not count when calls are matched. */
  readonly ignore?: readonly string[];
}

/**
 * Runs a function of this process under replay: every call in it is answered from the log, and it sees the recorded time
 * and randomness. All other code of the process, a test runner among it, keeps the real network, timers and clock.
 * Replays of one process run one after another.
 *
 * @example
 * const { value, report } = await replayFunction(() => answer('Where is my order?'), { executionLog: 'order.jsonl' });
 * expect(report.faithful).toBe(true);
 *
 * @throws ReenactError when the log cannot be read, an override is invalid, or the function does not end in time
 */
export async function replayFunction<T>(
  fn: () => T,
  options: ReplayFunctionOptions,
): Promise<FunctionReplay<Awaited<T>>> {
  return replayLogs(fn, options, await logsOf(options));
}

/** The same with the logs at hand. */
export function replayLogs<T>(
  fn: () => T,
  options: ReplayFunctionOptions,
  logs: readonly ExecutionLog[],
): Promise<FunctionReplay<Awaited<T>>> {
  const { executionLog, onDivergence, ignore, timeoutMs, beginsSession } = options;
  return replay(fn, {
    logs,
    ...(typeof executionLog === 'string' && { ref: executionLog }),
    overrides: overrideTexts(options, logs),
    ...(onDivergence !== undefined && { onDivergence }),
    ...(ignore !== undefined && { ignore }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(beginsSession !== undefined && { beginsSession }),
  });
}
