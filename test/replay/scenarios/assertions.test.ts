import type { ExecutionLog, ExecutionTurn } from '../../../instrumentation/schema/execution-log';
import type { ReplayDocument } from '../../../replay/player/report';
import { checkAssertions, combineVerdicts, parseAssertion } from '../../../replay/scenarios/assertions';
import type { Evidence } from '../../../replay/scenarios/assertions';

const at = (second: number): string => new Date(1_700_000_000_000 + second * 1000).toISOString();
const turns: ExecutionTurn[] = [
  {
    turnId: '1',
    timestamp: at(0),
    type: 'llm_call',
    request: { model: 'm', messages: [{ role: 'user', content: 'Where is order 7?' }] },
    response: {
      choices: [{ message: { role: 'assistant', content: null, tool_calls: [] } }],
      usage: { prompt_tokens: 10, completion_tokens: 5 },
    },
    durationMs: 500,
  },
  {
    turnId: '2',
    timestamp: at(1),
    type: 'tool_call',
    request: { name: 'get_order', args: { id: 7, user: { tier: 'gold' } } },
    response: { result: 'lost' },
    durationMs: 5,
  },
  {
    turnId: '3',
    timestamp: at(2),
    type: 'tool_call',
    request: { name: 'refund', args: { amount: 5 } },
    response: { result: true },
    durationMs: 5,
  },
  {
    turnId: '4',
    timestamp: at(3),
    type: 'llm_call',
    request: { model: 'm' },
    response: {
      content: [
        { type: 'thinking', thinking: 'hm' },
        { type: 'text', text: 'Your money is on its way.' },
      ],
      usage: { input_tokens: 20, output_tokens: 7, cache_read_input_tokens: 100 },
    },
    durationMs: 1000,
  },
];
const log: ExecutionLog = {
  sessionId: 's',
  agentVersion: '1',
  promptVersion: '1',
  startedAt: at(0),
  turns,
  outcome: 'resolved',
};
const report = {
  total: 4,
  replayed: 4,
  exact: 4,
  relaxed: 0,
  overridden: 0,
  diverged: 0,
  live: 0,
  unused: 0,
  blocked: 0,
  gaps: 0,
  faithful: true,
  divergences: [],
  logs: [log],
  ref: 'r',
  runId: 'x',
  sessionIds: ['s'],
  program: { exitCode: 0, recordedExitCode: 0, stdoutEqual: true },
} satisfies ReplayDocument;
const evidence: Evidence = { logs: [log], report };

const check = async (input: unknown, from: Evidence = evidence) => {
  const [result] = await checkAssertions([parseAssertion(input)], from);
  return result ?? fail();
};
const fail = (): never => {
  throw new Error('no result');
};

test.each([
  ['calls:get_order', true],
  ['calls:get_order<refund', true],
  ['calls:refund<get_order', false],
  ['calls:refund<never_called', true],
  ['calls:never_called', false],
  ['never:cancel', true],
  ['never:refund', false],
  ['answer~money is', true],
  ['answer~^money', false],
  ['outcome:resolved', true],
  ['outcome:escalated', false],
  ['exit:0', true],
  ['exit:1', false],
])('%s is %s', async (text, passed) => {
  expect((await check(text)).passed).toBe(passed);
});

test.each([
  [{ type: 'tool_call_present', toolName: 'get_order', args: { user: { tier: 'gold' } } }, true],
  [{ type: 'tool_call_present', toolName: 'get_order', args: { id: 8 } }, false],
  [{ type: 'tool_call_present', toolName: 'get_order', argsAt: { '/user/tier': 'gold' } }, true],
  [{ type: 'tool_call_absent', toolName: 'refund', args: { amount: 6 } }, true],
  [{ type: 'exit_code', value: 0 }, true],
  [{ type: 'exit_code', value: 3 }, false],
  [{ type: 'tool_call_count', toolName: 'refund', equals: 1 }, true],
  [{ type: 'tool_call_count', toolName: 'refund', min: 2 }, false],
  [{ type: 'tool_order', tools: ['get_order', 'refund'] }, true],
  [{ type: 'tool_order', tools: ['refund', 'get_order'] }, false],
  [{ type: 'tool_order', tools: ['refund'], exact: true }, false],
  [{ type: 'final_answer', equals: 'Your money is on its way.' }, true],
  [{ type: 'final_answer', contains: 'money', matches: '^YOUR', flags: 'i' }, true],
  [{ type: 'no_divergence' }, true],
  [{ type: 'max_turns', value: 4 }, true],
  [{ type: 'max_turns', value: 1, of: 'llm_call' }, false],
  // 10 + 5, and 20 + 100 from the cache + 7.
  [{ type: 'max_tokens', value: 142 }, true],
  [{ type: 'max_tokens', value: 141 }, false],
  // From the start of turn 1 to the end of turn 4, which begins in second 3 and takes one.
  [{ type: 'max_duration', ms: 4000 }, true],
  [{ type: 'max_duration', ms: 3999 }, false],
])('%j is %s', async (spec, passed) => {
  expect((await check(spec)).passed).toBe(passed);
});

test('a failure names the expected tool, and what was called in which turn', async () => {
  const result = await check('calls:flag_review<refund');
  expect(result.expected).toBe('flag_review is called before refund');
  expect(result.actual).toBe('called: get_order (turn 2), refund (turn 3)');
});

test('other arguments are named in the failure', async () => {
  const result = await check({ type: 'tool_call_present', toolName: 'refund', args: { amount: 6 } });
  expect(result.actual).toBe('called with other arguments: turn 3 {"amount":5}');
});

test.each([
  ['nonsense'],
  ['calls:'],
  ['calls:a<b<c'],
  ['exit:one'],
  ['{"type":'],
  ['{"type":"no_such_kind"}'],
  [{ type: 'tool_call_present' }],
  [{ type: 'tool_call_present', toolName: 'a', caledBefore: 'b' }],
  [{ type: 'final_answer', matches: '(' }],
  [{ type: 'tool_call_count', toolName: 'a' }],
  [null],
])('%j is refused with ASSERTION_INVALID', (input) => {
  expect(() => parseAssertion(input)).toThrow(expect.objectContaining({ code: 'ASSERTION_INVALID' }));
});

test('an assertion about a replay does not hold without one', async () => {
  expect((await check('exit:0', { logs: [log] })).passed).toBe(false);
  expect((await check({ type: 'no_divergence' }, { logs: [log] })).passed).toBe(false);
});

test('an assertion about nothing does not hold', async () => {
  expect((await check('outcome:resolved', { logs: [] })).passed).toBe(false);
  expect((await check({ type: 'max_duration', ms: 9 }, { logs: [] })).passed).toBe(false);
  expect(combineVerdicts([]).passed).toBe(false);
});

test('a function that throws fails and does not stop the others', async () => {
  const results = await checkAssertions(
    [
      () => {
        throw new Error('boom');
      },
      () => true,
    ],
    evidence,
  );
  expect(results.map((result) => result.passed)).toEqual([false, true]);
  expect(results[0]?.actual).toContain('boom');
});
