import { canonicalJson } from '../../instrumentation/schema/canonical-json';
import { ReenactError } from '../../instrumentation/schema/errors';
import type { ExecutionLog, ExecutionTurn } from '../../instrumentation/schema/execution-log';
import type { Recording } from '../../instrumentation/schema/records';
import { buildLog } from './build-log';
import { sameJson } from './message-history';
import { recordingOf } from './recording-of-log';

/**
 * Checks a log that came from outside: the bytes against their hashes, and what people read against the bytes. Gives
 * the recording back, since it had to be read for that.
 * @throws ReenactError LOG_TAMPERED, and those of `recordingOf`
 */
export function verifyLog(log: ExecutionLog): Recording {
  const recording = recordingOf(log);
  if (log.recording === undefined) return recording;
  const { turns } = buildLog(recording, log.sessionId);
  if (turns.length !== log.turns.length)
    throw new ReenactError(
      'LOG_TAMPERED',
      `log ${JSON.stringify(log.sessionId)} shows ${log.turns.length} turns, its recording holds ${turns.length}`,
    );
  for (const [index, turn] of turns.entries()) compareTurn(turn, log.turns[index], index + 1);
  return recording;
}

function compareTurn(recorded: ExecutionTurn, readable: ExecutionTurn | undefined, number: number): void {
  for (const field of ['type', 'request', 'response'] as const) {
    // Other tools may write keys in another order; that alone changes nothing.
    if (sameJson(recorded[field], readable?.[field])) continue;
    if (canonicalJson(recorded[field]) === canonicalJson(readable?.[field])) continue;
    throw new ReenactError('LOG_TAMPERED', `the ${field} of turn ${number} is not what its recorded bytes say`);
  }
}
