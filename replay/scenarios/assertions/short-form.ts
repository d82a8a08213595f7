import { ReenactError } from '../../../instrumentation/schema/errors';
import type { AssertionSpec } from './assertion';

/**
 * Reads the short forms of the command line: `calls:NAME`, `calls:A<B`, `never:NAME`, `answer~REGEX`,
 * `outcome:VALUE`, `exit:N`.
 * @throws ReenactError ASSERTION_INVALID
 */
export function parseShortForm(text: string): AssertionSpec {
  const [, word = '', rest = ''] = /^([a-z]+)[:~](.+)$/s.exec(text) ?? [];
  const separator = text[word.length];
  if (word === 'answer' && separator === '~') return { type: 'final_answer', matches: rest };
  if (separator === ':' && rest !== '') {
    if (word === 'calls') return parseCalls(rest);
    if (word === 'never') return { type: 'tool_call_absent', toolName: rest };
    if (word === 'outcome') return { type: 'outcome', value: rest };
    if (word === 'exit' && /^\d+$/.test(rest)) return { type: 'exit_code', value: Number(rest) };
  }
  throw new ReenactError('ASSERTION_INVALID', `${JSON.stringify(text)} is not an assertion`);
}

function parseCalls(rest: string): AssertionSpec {
  const [first = '', second, more] = rest.split('<');
  if (first === '' || second === '' || more !== undefined)
    throw new ReenactError('ASSERTION_INVALID', `"calls:${rest}" must be calls:NAME or calls:NAME<OTHER`);
  return {
    type: 'tool_call_present',
    toolName: first,
    ...(second !== undefined && { calledBefore: second }),
  };
}
