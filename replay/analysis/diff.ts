import { diffArrays } from 'diff';
import { canonicalJson } from '../../instrumentation/schema/canonical-json';
import type { ExecutionLog, ExecutionTurn } from '../../instrumentation/schema/execution-log';
import { jsonChanges } from './json-changes';
import type { JsonChange } from './json-changes';

/** One row of the comparison; turn numbers are 1-based, null where a side has no such turn. */
export interface TurnDiff {
  readonly a: number | null;
  readonly b: number | null;
  readonly kind: 'same' | 'changed' | 'inserted' | 'dropped' | 'moved';
  readonly changes: readonly JsonChange[];
}

/** The document of `reenact diff`. */
export interface LogDiff {
  /** Same turns in the same order, same observations and decisions, same outcome. */
  readonly equal: boolean;
  readonly turns: readonly TurnDiff[];
  /** Of the conversation as a whole: outcome, agent and prompt version, observations, decisions. */
  readonly log: readonly JsonChange[];
}

type Side = { readonly turn: ExecutionTurn; readonly number: number };
type Pair = readonly [a: Side | undefined, b: Side | undefined];

/** Aligns two conversations, by equal calls first and by like calls in between, and names what differs. */
export function diffLogs(a: ExecutionLog, b: ExecutionLog): LogDiff {
  const pairs = align(number(a.turns), number(b.turns), callKey).flatMap((run) =>
    run.matched ? run.pairs : align(run.a, run.b, shapeOf).flatMap(pairUp),
  );
  const turns = markMoved(pairs).map(describePair);
  const versions = (['agentVersion', 'promptVersion'] as const).flatMap((field) =>
    jsonChanges(a[field], b[field]).map((change) => ({ ...change, path: `/${field}` })),
  );
  const told = [
    ...prefixed('/outcome', jsonChanges(a.outcome, b.outcome)),
    ...prefixed('/observations', jsonChanges(observed(a), observed(b))),
    ...prefixed('/decisions', jsonChanges(decided(a), decided(b))),
  ];
  return {
    equal: turns.every((turn) => turn.kind === 'same') && told.length === 0,
    turns,
    log: [...told, ...versions],
  };
}

/** Without the times, which differ between any two runs. */
const decided = (log: ExecutionLog): unknown[] => (log.decisions ?? []).map(({ name, data }) => ({ name, data }));

const observed = (log: ExecutionLog): unknown[] =>
  (log.observations ?? []).map(({ key, value, error }) => ({ key, ...(error === undefined ? { value } : { error }) }));

function number(turns: readonly ExecutionTurn[]): Side[] {
  return turns.map((turn, index) => ({ turn, number: index + 1 }));
}

function callKey(side: Side): string {
  return `${side.turn.type}\n${canonicalJson(side.turn.request)}`;
}

/** What a call keeps when its content changes. */
function shapeOf(side: Side): string {
  const name = side.turn.type === 'tool_call' ? side.turn.request['name'] : side.turn.provider;
  return `${side.turn.type}\n${String(name ?? '')}`;
}

type Run =
  | { readonly matched: true; readonly pairs: readonly Pair[] }
  | { readonly matched: false; readonly a: readonly Side[]; readonly b: readonly Side[] };

/** Longest common subsequence of two lists under a key, as runs of matched pairs and what lies between them. */
function align(a: readonly Side[], b: readonly Side[], key: (side: Side) => string): Run[] {
  const runs: Run[] = [];
  let [ia, ib] = [0, 0];
  let open: { a: Side[]; b: Side[] } = { a: [], b: [] };
  const close = (): void => {
    if (open.a.length + open.b.length > 0) runs.push({ matched: false, ...open });
    open = { a: [], b: [] };
  };
  for (const part of diffArrays(a.map(key), b.map(key))) {
    const length = part.value.length;
    if (part.removed) {
      open.a.push(...a.slice(ia, (ia += length)));
    } else if (part.added) {
      open.b.push(...b.slice(ib, (ib += length)));
    } else {
      close();
      const left = a.slice(ia, (ia += length));
      const right = b.slice(ib, (ib += length));
      runs.push({ matched: true, pairs: left.map((side, index): Pair => [side, right[index]]) });
    }
  }
  close();
  return runs;
}

function pairUp(run: Run): Pair[] {
  if (run.matched) return [...run.pairs];
  return [...run.a.map((side): Pair => [side, undefined]), ...run.b.map((side): Pair => [undefined, side])];
}

type Marked = { readonly pair: Pair; readonly moved: boolean };

/** A call dropped here and inserted elsewhere with the same content has moved. */
function markMoved(pairs: readonly Pair[]): Marked[] {
  const dropped = new Map<string, Side[]>();
  for (const [a, b] of pairs) {
    if (a !== undefined && b === undefined) dropped.set(callKey(a), [...(dropped.get(callKey(a)) ?? []), a]);
  }
  const partners = new Map<Side, Side>();
  for (const [a, b] of pairs) {
    const from = a === undefined && b !== undefined ? dropped.get(callKey(b))?.shift() : undefined;
    if (from !== undefined && b !== undefined) partners.set(b, from);
  }
  const taken = new Set(partners.values());
  return pairs.flatMap(([a, b]): Marked[] => {
    if (a !== undefined && b === undefined && taken.has(a)) return [];
    const from = b === undefined ? undefined : partners.get(b);
    return from === undefined ? [{ pair: [a, b], moved: false }] : [{ pair: [from, b], moved: true }];
  });
}

function describePair({ pair: [a, b], moved }: Marked): TurnDiff {
  const numbers = { a: a?.number ?? null, b: b?.number ?? null };
  if (a === undefined) return { ...numbers, kind: 'inserted', changes: [] };
  if (b === undefined) return { ...numbers, kind: 'dropped', changes: [] };
  const changes = [
    ...prefixed('/request', jsonChanges(a.turn.request, b.turn.request)),
    ...prefixed('/response', jsonChanges(a.turn.response, b.turn.response)),
  ];
  if (moved) return { ...numbers, kind: 'moved', changes };
  return { ...numbers, kind: changes.length === 0 ? 'same' : 'changed', changes };
}

function prefixed(prefix: string, changes: readonly JsonChange[]): JsonChange[] {
  return changes.map((change) => ({ ...change, path: prefix + change.path }));
}
