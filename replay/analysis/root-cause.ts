import type { ExecutionLog, ExecutionTurn } from '../../instrumentation/schema/execution-log';
import { jsonChanges } from './json-changes';

/** One value of the recording and what it is replaced by: a candidate for what decided the outcome. */
export interface Candidate {
  /** 1-based turn. */
  readonly turn: number;
  /** JSON Pointer into the turn's answer; empty: the whole. */
  readonly path: string;
  readonly recorded: unknown;
  readonly replacement: unknown;
  /** The `--set` text that makes the change. */
  readonly set: string;
}

export interface RootCause {
  /** The smallest set found whose change makes the expectation hold. */
  readonly decisive: readonly Candidate[];
  readonly abstained: boolean;
  readonly replays: number;
  readonly tried: readonly Candidate[];
  readonly untried: readonly Candidate[];
}

/** Replays with these `--set` texts; true when the expectation holds. */
export type Trial = (sets: readonly string[]) => Promise<boolean>;

/** What a turn answers with, as `--set` addresses it. */
function answerOf(turn: ExecutionTurn): unknown {
  return turn.type === 'tool_call' ? turn.response['result'] : turn.response;
}

/** Ids, times and counts of a model's answer decide nothing by themselves; its words and calls do. */
const VOLATILE =
  /^\/(id|created|created_at|completed_at|system_fingerprint|usage|service_tier|model|object)(\/|$)|\/(id|call_id)$/;

/**
 * Candidates from conversations that went well: each turn's answer that differs from the answer of the same turn there
 * (k-th call of the same tool, k-th answer of the model), tools first.
 */
export function candidatesFrom(log: ExecutionLog, siblings: readonly ExecutionLog[]): Candidate[][] {
  const turns = log.turns
    .map((turn, index) => ({ turn, number: index + 1 }))
    .filter(({ turn }) => turn.inferred !== true);
  const groups = turns.flatMap(({ turn, number }) =>
    siblings.flatMap((sibling): Candidate[][] => {
      const other = counterpart(turn, log, sibling);
      if (other === undefined || 'error' in turn.response || 'error' in other.response) return [];
      const recorded = answerOf(turn);
      const replacement = answerOf(other);
      const fields = jsonChanges(recorded, replacement)
        .filter(({ path }) => turn.type === 'tool_call' || !VOLATILE.test(path))
        .filter((change) => 'b' in change && change.b !== undefined)
        .map(({ path, a, b }) => candidate({ turn: number, path, recorded: a, replacement: b }));
      if (fields.length === 0) return [];
      return [
        [candidate({ turn: number, path: '', recorded, replacement }), ...fields.filter(({ path }) => path !== '')],
      ];
    }),
  );
  const isTool = ([whole]: Candidate[]): boolean => log.turns[(whole?.turn ?? 1) - 1]?.type === 'tool_call';
  return [...groups.filter(isTool), ...groups.filter((group) => !isTool(group))];
}

export function candidate(fields: Omit<Candidate, 'set'>): Candidate {
  return { ...fields, set: `${fields.turn}${fields.path}=${JSON.stringify(fields.replacement)}` };
}

function counterpart(turn: ExecutionTurn, log: ExecutionLog, sibling: ExecutionLog): ExecutionTurn | undefined {
  const same = (other: ExecutionTurn): boolean =>
    other.type === turn.type && (turn.type === 'llm_call' || other.request['name'] === turn.request['name']);
  return sibling.turns.filter(same)[log.turns.filter(same).indexOf(turn)];
}

/**
 * Finds the smallest change that makes the expectation hold: each turn's whole answer first, then the fields of the one
 * that decides, then sets of turns by delta debugging. Says that it does not know rather than guess.
 */
export async function findRootCause(
  groups: readonly Candidate[][],
  trial: Trial,
  maxReplays: number,
): Promise<RootCause> {
  const search = new Search(trial, maxReplays);
  const all = groups.flat();
  const decisive = await search.find(groups);
  const tried = all.filter(({ set }) => search.tried.has(set));
  return {
    decisive,
    abstained: decisive.length === 0,
    replays: search.replays,
    tried,
    untried: all.filter((each) => !tried.includes(each)),
  };
}

class Search {
  readonly tried = new Set<string>();
  replays = 0;
  private readonly trial: Trial;
  private readonly maxReplays: number;

  constructor(trial: Trial, maxReplays: number) {
    this.trial = trial;
    this.maxReplays = maxReplays;
  }

  async find(groups: readonly Candidate[][]): Promise<readonly Candidate[]> {
    // An expectation that holds already has no cause to look for.
    if (await this.holds([])) return [];
    for (const [whole, ...fields] of groups) {
      if (whole === undefined || !(await this.holds([whole]))) continue;
      return this.narrow(whole, fields);
    }
    const wholes = groups.flatMap(([whole]) => (whole === undefined ? [] : [whole]));
    if (wholes.length < 2 || !(await this.holds(wholes))) return [];
    return this.minimise(wholes);
  }

  /** The field of a deciding answer that decides by itself, else the smallest set of its fields, else the whole. */
  private async narrow(whole: Candidate, fields: readonly Candidate[]): Promise<readonly Candidate[]> {
    for (const field of fields) if (await this.holds([field])) return [field];
    if (fields.length > 1 && (await this.holds(fields))) return this.minimise(fields);
    return [whole];
  }

  /** Delta debugging (ddmin): drops halves, quarters, … as long as the rest still decides. */
  private async minimise(set: readonly Candidate[]): Promise<readonly Candidate[]> {
    let rest = set;
    let parts = 2;
    while (rest.length > 1) {
      const size = Math.ceil(rest.length / parts);
      let smaller: readonly Candidate[] | undefined;
      for (let at = 0; at < rest.length && smaller === undefined; at += size) {
        const without = [...rest.slice(0, at), ...rest.slice(at + size)];
        if (without.length > 0 && (await this.holds(without))) smaller = without;
      }
      if (smaller !== undefined) {
        rest = smaller;
        parts = Math.max(parts - 1, 2);
      } else if (size === 1 || this.replays >= this.maxReplays) return rest;
      else parts = Math.min(parts * 2, rest.length);
    }
    return rest;
  }

  private async holds(candidates: readonly Candidate[]): Promise<boolean> {
    if (this.replays >= this.maxReplays) return false;
    this.replays += 1;
    for (const { set } of candidates) this.tried.add(set);
    return this.trial(candidates.map(({ set }) => set));
  }
}
