import { canonicalJson } from '../../instrumentation/schema/canonical-json';
import type { CallRecord, DecisionRecord, SessionRecord } from '../../instrumentation/schema/records';
import { firstDifference } from './json-difference';
import { short } from './recorded-calls';
import type { Divergence } from './report';

/** Differences that are told one by one. */
const MAX_TOLD = 100;

/**
 * What a program states of itself: decisions, and how its conversations ended. A replay compares them with the recorded
 * ones. They are no calls, so they change none of the counts, but a replay that states something else is not faithful.
 */
export class RecordedStatements {
  private readonly decisions: DecisionRecord[];
  private readonly sessions: SessionRecord[];
  private readonly ended: SessionRecord[] = [];
  private readonly told: Divergence[] = [];
  private readonly redactJson: (value: unknown) => unknown;

  constructor(parts: {
    decisions: readonly DecisionRecord[];
    /** Recorded ends of sessions. */
    sessions: readonly SessionRecord[];
    redactJson: (value: unknown) => unknown;
  }) {
    this.decisions = [...parts.decisions].sort((a, b) => a.seqStart - b.seqStart);
    // The process's own session is written once more when something comes after its end: the last one holds.
    const ends = parts.sessions.filter((session) => session.phase === 'end');
    this.sessions = [...new Map(ends.map((session) => [sessionKey(session), session])).values()];
    this.redactJson = parts.redactJson;
  }

  /** The program states a decision; the recorded one in its place is the next of its scope. */
  note(record: CallRecord): void {
    if (record.kind !== 'decision') return;
    const data = this.redactJson(record.data);
    const here = this.decisions.filter((decision) => decision.scope === record.scope);
    const same = here.find(
      (decision) => decision.decision === record.decision && canonicalJson(decision.data) === canonicalJson(data),
    );
    const next = here.find((decision) => decision.decision === record.decision) ?? here[0];
    const taken = same ?? (next?.decision === record.decision ? next : undefined);
    if (taken !== undefined) this.decisions.splice(this.decisions.indexOf(taken), 1);
    if (same !== undefined && same === here[0]) return;
    if (same !== undefined)
      this.tell(record.decision, { rule: 'decision-order', expected: here[0], cause: OTHER_ORDER });
    else if (taken !== undefined) {
      const difference = firstDifference(taken.data, data);
      this.told.push({ ...blank(record.decision, OTHER_DATA), path: '/data', ...(difference && prefixed(difference)) });
    } else this.tell(record.decision, { rule: 'decision', expected: next, cause: NOT_RECORDED });
  }

  /** The program has answered an inbound request that was sent to it again. */
  answered(key: string, { recorded, answer }: { recorded: unknown; answer: unknown }): void {
    const difference = firstDifference(recorded, answer);
    if (difference !== undefined)
      this.told.push({ ...blank('', OTHER_ANSWER), name: `answer to ${key}`, rule: 'answer', ...difference });
  }

  /** A session of the replay has ended. */
  sessionEnded(record: SessionRecord): void {
    this.ended.push(record);
  }

  /** All differences; those that can only be known at the end are found now. */
  differences(): Divergence[] {
    const missing = this.decisions.map((decision) => ({
      ...blank(decision.decision, NOT_STATED),
      expected: words(decision),
    }));
    return [...this.told, ...missing, ...this.outcomes()].slice(0, MAX_TOLD);
  }

  private outcomes(): Divergence[] {
    return this.sessions.flatMap((recorded) => {
      const replayed = this.ended.findLast((session) => sessionKey(session) === sessionKey(recorded));
      const expected = outcomeOf(recorded);
      const actual = outcomeOf(replayed);
      if (canonicalJson(expected) === canonicalJson(actual)) return [];
      const difference = firstDifference(expected, actual);
      return [
        { ...blank('', OTHER_OUTCOME), name: `outcome of ${recorded.sessionId}`, rule: 'outcome', ...difference },
      ];
    });
  }

  private tell(
    name: string,
    { rule, expected, cause }: { rule: string; expected: DecisionRecord | undefined; cause: string },
  ): void {
    this.told.push({
      ...blank(name, cause),
      rule,
      expected: expected === undefined ? null : words(expected),
      actual: `decision ${name}`,
    });
  }
}

const OTHER_ORDER = 'The program decided in another order than when it was recorded.';
const OTHER_DATA = 'The program decided otherwise than when it was recorded.';
const NOT_RECORDED = 'This decision was not made when it was recorded.';
const NOT_STATED = 'The program ended without this decision.';
const OTHER_ANSWER = 'The program answered otherwise than when it was recorded.';
const OTHER_OUTCOME = 'The conversation ended otherwise than when it was recorded.';

function blank(name: string, cause: string): Divergence {
  return {
    kind: 'diverged',
    turn: null,
    rule: 'decision',
    path: '',
    expected: null,
    actual: null,
    nearest: null,
    name: `decision ${name}`,
    cause,
    hint: 'An earlier divergence explains it, or the code has changed since the recording.',
  };
}

const sessionKey = (session: SessionRecord): string => `${session.sessionId}\n${session.scope}`;

const words = (decision: DecisionRecord): string => `decision ${decision.decision}(${short(decision.data)})`;

function prefixed<D extends { path: string }>(difference: D): D {
  return { ...difference, path: `/data${difference.path}` };
}

/** The reason of a failure may tell times and ids; that it failed does not. */
function outcomeOf(session: SessionRecord | undefined): { outcome: string | null; failed: boolean } {
  return { outcome: session?.outcome ?? null, failed: session?.failure !== undefined };
}
