import { tokensOf } from '../token-count';
import { allTurns, defineAssertion } from './assertion';

/** At most so many turns, or LLM calls, or tool calls (`of`). */
export const maxTurns = defineAssertion(
  'max_turns',
  (reader) => {
    const of = reader.optionalString('of') ?? 'all';
    if (of !== 'all' && of !== 'llm_call' && of !== 'tool_call')
      return reader.fail('"of" must be all, llm_call or tool_call');
    return { value: reader.number('value'), of };
  },
  ({ value, of }, evidence) => {
    const count = allTurns(evidence).filter((placed) => of === 'all' || placed.turn.type === of).length;
    const what = { all: 'turns', llm_call: 'LLM calls', tool_call: 'tool calls' }[of];
    return { passed: count <= value, expected: `at most ${value} ${what}`, actual: `${count} ${what}` };
  },
);

/** At most so many tokens in all, as the providers counted them. */
export const maxTokens = defineAssertion(
  'max_tokens',
  (reader) => ({ value: reader.number('value') }),
  ({ value }, evidence) => {
    const counts = allTurns(evidence)
      .filter((placed) => placed.turn.type === 'llm_call')
      .map((placed) => tokensOf(placed.turn));
    const known = counts.filter((count) => count !== undefined);
    const total = known.reduce((sum, count) => sum + count.input + count.output, 0);
    const blind = counts.length - known.length;
    return {
      // A turn without a count would make any bound hold.
      passed: blind === 0 && counts.length > 0 && total <= value,
      expected: `at most ${value} tokens`,
      actual: `${total} tokens${blind > 0 ? `, and ${blind} LLM calls without a count` : ''}`,
    };
  },
);

/** At most so many milliseconds from the start to the end, in the time of the replay's clock. */
export const maxDuration = defineAssertion(
  'max_duration',
  (reader) => ({ ms: reader.number('ms') }),
  ({ ms }, evidence) => {
    const turns = allTurns(evidence).map((placed) => placed.turn);
    const starts = turns.map((turn) => Date.parse(turn.timestamp));
    const ends = turns.map((turn) => Date.parse(turn.timestamp) + turn.durationMs);
    const lasted = turns.length === 0 ? 0 : Math.max(...ends) - Math.min(...starts);
    return {
      passed: turns.length > 0 && lasted <= ms,
      expected: `at most ${ms} ms`,
      actual: turns.length === 0 ? 'there are no turns' : `${Math.round(lasted)} ms`,
    };
  },
);
