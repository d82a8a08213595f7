import type { Recording } from '../../instrumentation/schema/records';

/** False when the logs hold only some of the calls that the run's first process counted at its end. */
export function isWholeRun(recording: Recording): boolean {
  return recording.exits.every(
    (exit) => recording.calls.filter((call) => call.processPath === exit.processPath).length >= exit.calls,
  );
}
