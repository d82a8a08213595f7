import type { CallRecord } from '../../instrumentation/schema/records';

/** The calls that count: attempts, tool calls and observations, without what happened inside substituted tools. */
export function countedCalls(calls: readonly CallRecord[]): CallRecord[] {
  return outsideSubstituted(calls).filter((call) => call.kind !== 'decision');
}

/** What a replay really does again: everything but what happened inside functions that are answered. */
export function outsideSubstituted(calls: readonly CallRecord[]): CallRecord[] {
  const prefixes = new Map<string, Set<string>>();
  for (const call of calls) {
    const prefix = substitutedScope(call);
    if (prefix === undefined) continue;
    const known = prefixes.get(call.processPath) ?? new Set();
    prefixes.set(call.processPath, known.add(prefix));
  }
  return calls.filter(
    (call) => ![...(prefixes.get(call.processPath) ?? [])].some((prefix) => call.scope.startsWith(prefix)),
  );
}

/** Beginning of the scope of everything inside a function that a replay answers instead of running it. */
function substitutedScope(call: CallRecord): string | undefined {
  const parent = call.scope === '' ? '' : `${call.scope}/`;
  if (call.kind === 'tool' && call.replay === 'substitute') return `${parent}t:${encodeURIComponent(call.tool)}#`;
  if (call.kind === 'observation') return `${parent}o:${encodeURIComponent(call.key)}#`;
  return undefined;
}
