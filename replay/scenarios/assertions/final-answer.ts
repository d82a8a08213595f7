import { answerText } from '../answer-text';
import { allTurns, defineAssertion, shortJson } from './assertion';
import type { SpecReader } from './assertion';

/** The last text the model answered: `equals`, `contains` or `matches` (a regular expression, with `flags`). */
export const finalAnswer = defineAssertion(
  'final_answer',
  (reader) => {
    const fields = {
      equals: reader.optionalString('equals'),
      contains: reader.optionalString('contains'),
      matches: readPattern(reader),
    };
    if (fields.equals === undefined && fields.contains === undefined && fields.matches === undefined)
      reader.fail('needs "equals", "contains" or "matches"');
    return fields;
  },
  ({ equals, contains, matches }, evidence) => {
    const answers = allTurns(evidence)
      .filter((placed) => placed.turn.type === 'llm_call')
      .map((placed) => ({ text: answerText(placed.turn), number: placed.number }));
    const last = answers.filter((answer) => answer.text !== '').at(-1);
    const text = last?.text ?? '';
    const wanted = [
      ...(equals === undefined ? [] : [`equals ${shortJson(equals)}`]),
      ...(contains === undefined ? [] : [`contains ${shortJson(contains)}`]),
      ...(matches === undefined ? [] : [`matches ${String(matches)}`]),
    ];
    return {
      passed:
        last !== undefined &&
        (equals === undefined || text === equals) &&
        (contains === undefined || text.includes(contains)) &&
        (matches === undefined || matches.test(text)),
      expected: `the final answer ${wanted.join(' and ')}`,
      actual: last === undefined ? 'the model gave no text' : `turn ${last.number}: ${shortJson(text, 500)}`,
    };
  },
);

function readPattern(reader: SpecReader): RegExp | undefined {
  const source = reader.optionalString('matches');
  const flags = reader.optionalString('flags') ?? '';
  if (source === undefined) return undefined;
  if (/[gy]/.test(flags)) return reader.fail('"flags" must not hold g or y');
  try {
    return new RegExp(source, flags);
  } catch (error) {
    return reader.fail(`"matches" is not a regular expression: ${(error as Error).message}`);
  }
}
