import { ReenactError } from '../../../instrumentation/schema/errors';
import type { AssertionKind, AssertionSpec, Evidence, Verdict } from './assertion';
import { exitCode } from './exit-code';
import { finalAnswer } from './final-answer';
import { maxDuration, maxTokens, maxTurns } from './limits';
import { noDivergence } from './no-divergence';
import { outcome } from './outcome';
import { parseShortForm } from './short-form';
import { toolCallAbsent } from './tool-call-absent';
import { toolCallCount } from './tool-call-count';
import { toolCallPresent } from './tool-call-present';
import { toolOrder } from './tool-order';

export type { AssertionSpec, Evidence, Verdict } from './assertion';

/** All kinds of assertion. */
export const assertionKinds = [
  toolCallPresent,
  toolCallAbsent,
  toolCallCount,
  toolOrder,
  finalAnswer,
  outcome,
  exitCode,
  noDivergence,
  maxTurns,
  maxTokens,
  maxDuration,
] as const satisfies readonly AssertionKind[];

/** A function of the evidence, for assertions written in code. */
export type CustomAssertion = (evidence: Evidence) => boolean | Verdict | Promise<boolean | Verdict>;

export type Assertion = AssertionSpec | CustomAssertion;

/** The result of one assertion. */
export interface CheckedAssertion extends Verdict {
  readonly assertion: AssertionSpec;
}

/**
 * Reads an assertion: an object `{ type, … }`, its JSON, or a short form such as `calls:NAME`.
 * @throws ReenactError ASSERTION_INVALID
 */
export function parseAssertion(input: unknown): AssertionSpec {
  const spec = typeof input === 'string' ? parseText(input) : input;
  if (typeof spec !== 'object' || spec === null || typeof (spec as AssertionSpec).type !== 'string')
    throw new ReenactError('ASSERTION_INVALID', 'an assertion must be an object with a "type"');
  kindOf(spec as AssertionSpec).validate(spec as AssertionSpec);
  return spec as AssertionSpec;
}

function parseText(text: string): AssertionSpec {
  if (!text.trimStart().startsWith('{')) return parseShortForm(text);
  try {
    return JSON.parse(text) as AssertionSpec;
  } catch (cause) {
    throw new ReenactError('ASSERTION_INVALID', `the assertion is not JSON: ${(cause as Error).message}`, { cause });
  }
}

function kindOf(spec: AssertionSpec): AssertionKind {
  const kind = assertionKinds.find((candidate) => candidate.type === spec.type);
  if (kind !== undefined) return kind;
  const known = assertionKinds.map((candidate) => candidate.type).join(', ');
  throw new ReenactError('ASSERTION_INVALID', `there is no assertion ${JSON.stringify(spec.type)}; known are ${known}`);
}

/** Judges every assertion; none stops the others. */
export async function checkAssertions(
  assertions: readonly Assertion[],
  evidence: Evidence,
): Promise<CheckedAssertion[]> {
  const checked: CheckedAssertion[] = [];
  for (const assertion of assertions) {
    checked.push(
      typeof assertion === 'function'
        ? await checkCustom(assertion, evidence)
        : { assertion, ...kindOf(assertion).check(assertion, evidence) },
    );
  }
  return checked;
}

async function checkCustom(assertion: CustomAssertion, evidence: Evidence): Promise<CheckedAssertion> {
  const spec: AssertionSpec = { type: 'custom', name: assertion.name };
  const expected = `${assertion.name || 'the assertion'} holds`;
  try {
    const result = await assertion(evidence);
    if (typeof result === 'object') return { assertion: spec, ...result };
    return { assertion: spec, passed: result === true, expected, actual: `it returned ${String(result)}` };
  } catch (error) {
    return { assertion: spec, passed: false, expected, actual: `it threw ${String(error)}` };
  }
}

/** All verdicts as one: passed when all pass; `expected` and `actual` of those that fail, else of all. */
export function combineVerdicts(verdicts: readonly Verdict[]): Verdict {
  const failed = verdicts.filter((verdict) => !verdict.passed);
  const shown = failed.length > 0 ? failed : verdicts;
  return {
    passed: verdicts.length > 0 && failed.length === 0,
    expected: shown.map((verdict) => verdict.expected).join('; '),
    actual: shown.map((verdict) => verdict.actual).join('; '),
  };
}
