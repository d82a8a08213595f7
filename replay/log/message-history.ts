import { ReenactError } from '../../instrumentation/schema/errors';
import type { ExecutionTurn } from '../../instrumentation/schema/execution-log';
import { isObject, type JsonObject } from './checked';

/** Fields of LLM requests that hold the conversation so far, by provider: chat and messages, responses, gemini. */
export const HISTORY_FIELDS = ['messages', 'input', 'contents'] as const;

/** Earlier conversations that are compared; a session rarely talks along more lines than this at once. */
const MAX_LINES = 16;

/** Most items that `$same` may stand for in one log, so that a forged log cannot fill the memory. */
const MAX_EXPANDED = 20_000_000;

export function historyField(request: JsonObject): (typeof HISTORY_FIELDS)[number] | undefined {
  return HISTORY_FIELDS.find((field) => Array.isArray(request[field]));
}

/** Whether two JSON values are the same, the order of keys included: much cheaper than comparing their text. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  const otherKeys = Object.keys(b);
  // Order of keys counts: what is shared must give the same bytes again.
  return (
    keys.length === otherKeys.length &&
    keys.every((key, i) => key === otherKeys[i] && sameJson((a as JsonObject)[key], (b as JsonObject)[key]))
  );
}

function sharedPrefix(a: readonly unknown[], b: readonly unknown[]): number {
  const length = Math.min(a.length, b.length);
  let count = 0;
  while (count < length && sameJson(a[count], b[count])) count += 1;
  return count;
}

/**
 * Knows the histories of a conversation's requests so far. Each turn resends everything before it; finding the shared
 * beginning keeps memory and work linear in what is new.
 */
export class MessageHistory {
  private lines: { turn: number; items: readonly unknown[] }[] = [];

  /** The longest beginning that `items` shares with an earlier turn, and remembers `items` as those of `turn`. */
  add(turn: number, items: readonly unknown[]): { turn: number; count: number } | undefined {
    let best: { turn: number; count: number } | undefined;
    let bestLine = -1;
    for (let index = this.lines.length - 1; index >= 0; index--) {
      const line = this.lines[index];
      if (line === undefined || (best !== undefined && line.items.length <= best.count)) continue;
      const count = sharedPrefix(line.items, items);
      if (count > (best?.count ?? 0)) {
        best = { turn: line.turn, count };
        bestLine = index;
        if (count === line.items.length) break;
      }
    }
    // A line that this turn continues is replaced by it; others stay, up to a bound.
    if (best !== undefined && this.lines[bestLine]?.items.length === best.count) this.lines.splice(bestLine, 1);
    this.lines.push({ turn, items });
    if (this.lines.length > MAX_LINES) this.lines.shift();
    return best;
  }

  /** Like `add`, and gives the items back with those of the shared beginning taken from the earlier turn. */
  intern(turn: number, items: readonly unknown[]): { items: unknown[]; shared: number } {
    const lines = new Map(this.lines.map((line) => [line.turn, line.items]));
    const same = this.add(turn, items);
    if (same === undefined) return { items: [...items], shared: 0 };
    const shared = [...(lines.get(same.turn) ?? []).slice(0, same.count), ...items.slice(same.count)];
    const last = this.lines.at(-1);
    if (last !== undefined) last.items = shared;
    return { items: shared, shared: same.count };
  }
}

function marker(item: unknown): JsonObject | undefined {
  return isObject(item) && Object.keys(item).length === 1 && isObject(item['$same']) ? item['$same'] : undefined;
}

/** Writes histories as `{ "$same": { turn, count } }` followed by what is new; `turn` counts from 1. */
export function compactTurns(turns: readonly ExecutionTurn[]): ExecutionTurn[] {
  const history = new MessageHistory();
  return turns.map((turn, index) => {
    const field = turn.type === 'llm_call' ? historyField(turn.request) : undefined;
    if (field === undefined) return turn;
    const items = turn.request[field] as unknown[];
    const same = history.add(index + 1, items);
    // A message of the program's own that looks like the mark is kept apart from it by a mark of nothing.
    const escape = marker(items[0]) !== undefined ? { turn: index + 1, count: 0 } : undefined;
    const mark = same ?? escape;
    if (mark === undefined) return turn;
    return { ...turn, request: { ...turn.request, [field]: [{ $same: mark }, ...items.slice(mark.count)] } };
  });
}

/** The inverse of `compactTurns`, in place of every `$same` that stands first in a history. */
export function expandTurns(turns: readonly ExecutionTurn[]): ExecutionTurn[] {
  const expanded: ExecutionTurn[] = [];
  let total = 0;
  for (const [index, turn] of turns.entries()) {
    const field = turn.type === 'llm_call' ? historyField(turn.request) : undefined;
    const items = field === undefined ? [] : (turn.request[field] as unknown[]);
    const mark = marker(items[0]);
    if (field === undefined || mark === undefined) {
      expanded.push(turn);
      continue;
    }
    const before = earlierItems(mark, expanded, index);
    total += before.length;
    if (total > MAX_EXPANDED)
      throw new ReenactError('LOG_INVALID', `"$same" stands for more than ${MAX_EXPANDED} items`);
    expanded.push({ ...turn, request: { ...turn.request, [field]: [...before, ...items.slice(1)] } });
  }
  return expanded;
}

function earlierItems(mark: JsonObject, expanded: readonly ExecutionTurn[], index: number): unknown[] {
  const { turn, count } = mark;
  if (count === 0) return [];
  const earlier = typeof turn === 'number' && turn >= 1 && turn <= index ? expanded[turn - 1] : undefined;
  const field = earlier === undefined ? undefined : historyField(earlier.request);
  const items = earlier === undefined || field === undefined ? [] : (earlier.request[field] as unknown[]);
  if (!Number.isSafeInteger(count) || (count as number) < 1 || (count as number) > items.length)
    throw new ReenactError('LOG_INVALID', `"$same" of turn ${index + 1} names messages that no earlier turn has`);
  return items.slice(0, count as number);
}
