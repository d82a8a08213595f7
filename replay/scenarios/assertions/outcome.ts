import { defineAssertion } from './assertion';

/** The conversation ended with this outcome (resolved, escalated, abandoned). */
export const outcome = defineAssertion(
  'outcome',
  (reader) => ({ value: reader.string('value') }),
  ({ value }, evidence) => {
    const outcomes = evidence.logs.map((log) => log.outcome ?? 'none');
    return {
      passed: outcomes.length > 0 && outcomes.every((item) => item === value),
      expected: `the outcome is ${value}`,
      actual: outcomes.length === 0 ? 'there is no log' : `the outcome is ${[...new Set(outcomes)].join(', ')}`,
    };
  },
);
