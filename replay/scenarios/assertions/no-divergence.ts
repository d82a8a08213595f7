import { defineAssertion, shortJson } from './assertion';

/** Every call of the replay was answered exactly from the recording. */
export const noDivergence = defineAssertion(
  'no_divergence',
  () => ({}),
  (_fields, evidence) => {
    const report = evidence.report;
    if (report === undefined) return { passed: false, expected: 'no call diverges', actual: 'nothing was replayed' };
    const first = report.divergences[0];
    const detail =
      first === undefined
        ? ''
        : `; first: ${first.name}${first.turn === null ? '' : ` in turn ${first.turn}`} at ${first.path || '/'}, expected ${shortJson(first.expected)}, got ${shortJson(first.actual)}`;
    return {
      passed: report.total > 0 && report.diverged + report.relaxed + report.live + report.unused + report.blocked === 0,
      expected: 'no call diverges',
      actual: `diverged=${report.diverged} relaxed=${report.relaxed} live=${report.live} unused=${report.unused} blocked=${report.blocked} of ${report.total}${detail}`,
    };
  },
);
