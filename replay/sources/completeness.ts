import type { Recording } from '../../instrumentation/schema/records';

/**
 * What tells that spans of a run are missing: a process without its end, or with fewer calls than it counted. No
 * backend says when a trace is complete.
 */
export function missingCalls(recording: Recording): string[] {
  const counts = new Map<string, number>();
  const paths = new Set(recording.processes.map((process) => process.processPath));
  for (const call of recording.calls) {
    counts.set(call.processPath, (counts.get(call.processPath) ?? 0) + 1);
    paths.add(call.processPath);
  }
  const exits = new Map(recording.exits.map((exit) => [exit.processPath, exit]));
  const missing: string[] = [];
  for (const path of paths) {
    const exit = exits.get(path);
    const found = counts.get(path) ?? 0;
    if (exit === undefined) missing.push(`process ${path}: its end is missing; it was killed, or spans are lost`);
    else if (exit.calls > found)
      missing.push(`process ${path}: ${exit.calls - found} of ${exit.calls} calls are missing`);
  }
  return missing;
}
