import { defineAssertion } from './assertion';

/** The program ended with this exit code. */
export const exitCode = defineAssertion(
  'exit_code',
  (reader) => ({ value: reader.number('value') }),
  ({ value }, evidence) => ({
    passed: evidence.report?.program.exitCode === value,
    expected: `the program exits with ${value}`,
    actual: evidence.report === undefined ? 'no program was run' : `it exited with ${evidence.report.program.exitCode}`,
  }),
);
