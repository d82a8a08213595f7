import type { ExecutionLog, ExecutionTurn } from '../../../instrumentation/schema/execution-log';
import { overrideTexts } from '../../../replay/injected/override-texts';

const turn = (number: number, fields: Partial<ExecutionTurn>): ExecutionTurn => ({
  turnId: `turn-${number}`,
  timestamp: '2026-01-01T00:00:00.000Z',
  type: 'tool_call',
  request: { name: 'get', args: { n: number } },
  response: { result: { n: number } },
  durationMs: 1,
  ...fields,
});
const log: ExecutionLog = {
  sessionId: 's',
  agentVersion: '',
  promptVersion: '',
  startedAt: '2026-01-01T00:00:00.000Z',
  turns: [turn(1, { type: 'llm_call', request: { model: 'm' }, response: { text: 'hi' } }), turn(2, {}), turn(3, {})],
};

test('values become the texts of --set', () => {
  const texts = overrideTexts(
    { toolOverrides: { get: 1, 'get#2/n': 'x', '3': null }, llmOverrides: { 'llm#1': 'words' } },
    [log],
  );
  expect(texts.sort()).toEqual(['3=null', 'llm#1=words', 'tool:get#2/n="x"', 'tool:get=1']);
});

test('a function is called for each recorded turn that its key names', () => {
  const double = (value: unknown): unknown => ({ n: (value as { n: number }).n * 2 });
  expect(overrideTexts({ toolOverrides: { get: double } }, [log])).toEqual([
    'tool:get#1={"n":4}',
    'tool:get#2={"n":6}',
  ]);
  expect(overrideTexts({ toolOverrides: { 'get#2': double } }, [log])).toEqual(['tool:get#2={"n":6}']);
  expect(overrideTexts({ toolOverrides: { '2': double } }, [log])).toEqual(['2={"n":4}']);
});

test.each([
  ['an Error', { get: new Error('x') }, 'SET_INVALID'],
  [
    'a function that throws',
    {
      get: () => {
        throw new Error('x');
      },
    },
    'SET_INVALID',
  ],
  ['a promise', { get: () => Promise.resolve(1) }, 'SET_INVALID'],
  ['a function for a turn that is not there', { 'get#3': () => 1 }, 'TURN_NOT_FOUND'],
])('%s cannot be passed to a command', (_name, toolOverrides, expected) => {
  expect(() => overrideTexts({ toolOverrides }, [log])).toThrow(expect.objectContaining({ code: expected }) as Error);
});
