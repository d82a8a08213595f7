import type { ExecutionLog, ExecutionTurn } from '../../../instrumentation/schema/execution-log';
import { renderText } from '../../../replay/cli/conversation/render-text';
import { viewConversation } from '../../../replay/cli/conversation/view';
import { paletteFor } from '../../../replay/cli/terminal-text';

const llm = (request: ExecutionTurn['request'], response: ExecutionTurn['response']): ExecutionTurn => ({
  turnId: 't',
  timestamp: '2026-01-01T00:00:00.000Z',
  type: 'llm_call',
  request,
  response,
  durationMs: 1,
});

function shown(...turns: ExecutionTurn[]): string {
  const log: ExecutionLog = {
    sessionId: 's',
    agentVersion: '',
    promptVersion: '',
    startedAt: turns[0]!.timestamp,
    turns,
  };
  return renderText(viewConversation(log), { palette: paletteFor({}), width: 80, maxLines: 99 });
}

const question = { type: 'message', role: 'user', content: 'How is it in Paris?' };
const answer = [
  { type: 'reasoning', id: 'rs_1', summary: [] },
  { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'weather', arguments: '{"city":"Paris"}' },
  { type: 'function_call', id: 'fc_2', call_id: 'call_2', name: 'weather', arguments: '{"city":"Lyon"}' },
];

test('the items of one answer are one message when the next request sends them back', () => {
  const text = shown(
    llm({ input: [question] }, { output: answer }),
    llm(
      { input: [question, ...answer, { type: 'function_call_output', call_id: 'call_1', output: 'rain' }] },
      { output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'It rains.' }] }] },
    ),
  );
  expect(text).toContain('(2 messages as before)');
  expect(text.match(/→ weather/g)).toHaveLength(2);
});

test.each([
  ['text', { type: 'function_call_output', call_id: 'call_1', output: 'rain' }],
  ['parts', { type: 'function_call_output', call_id: 'call_1', output: [{ type: 'input_text', text: 'rain' }] }],
  ['an object', { type: 'function_call_output', call_id: 'call_1', output: { type: 'text', text: 'rain' } }],
  ['another kind', { type: 'custom_tool_call_output', call_id: 'call_1', output: 'rain' }],
])('a tool result that stands in the input as an item is shown (%s)', (_form, item) => {
  expect(shown(llm({ input: [question, item] }, { output: [] }))).toMatch(/tool +← rain/);
});

test('a call that is not of a function is shown with its kind and action', () => {
  const output = [{ type: 'shell_call', call_id: 'c', action: { commands: ['ls'] } }];
  expect(shown(llm({ input: [question] }, { output }))).toContain('→ shell_call {"commands":["ls"]}');
});

test('reasoning whose text is not given is named', () => {
  const text = shown(llm({ input: [question] }, { output: [{ type: 'reasoning', summary: [], content: [] }] }));
  expect(text).toContain('[reasoning]');
  expect(text).not.toContain('(empty)');
});

test('a function call of the older form and its result are shown', () => {
  const function_call = { name: 'search', arguments: '{"name":"dune"}' };
  const text = shown(
    llm({ messages: [] }, { choices: [{ message: { role: 'assistant', content: null, function_call } }] }),
    llm({ messages: [{ role: 'function', name: 'search', content: '[]' }] }, { choices: [] }),
  );
  expect(text).toContain('→ search {"name":"dune"}');
  expect(text).toMatch(/function +← \[\]/);
});
