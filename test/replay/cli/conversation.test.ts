import type { ExecutionLog } from '../../../instrumentation/schema/execution-log';
import { renderHtml } from '../../../replay/cli/conversation/render-html';
import { renderMarkdown } from '../../../replay/cli/conversation/render-markdown';
import { renderText } from '../../../replay/cli/conversation/render-text';
import { viewConversation } from '../../../replay/cli/conversation/view';
import { columns, paletteFor } from '../../../replay/cli/terminal-text';

const at = (second: number): string => new Date(1_700_000_000_000 + second * 1000).toISOString();
const question = 'Where is order 7? '.repeat(20).trim();
const toolMessage = { role: 'tool', tool_call_id: 'c1', content: '{"status":"lost"}' };
const asked = {
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'c1', type: 'function', function: { name: 'get_order', arguments: '{"id":7}' } }],
};
const log: ExecutionLog = {
  sessionId: 's-1',
  agentVersion: '7',
  promptVersion: 'p3',
  startedAt: at(0),
  durationMs: 65_000,
  outcome: 'escalated',
  turns: [
    {
      turnId: '1',
      timestamp: at(0),
      type: 'llm_call',
      request: {
        model: 'gpt',
        messages: [
          { role: 'system', content: 'Be kind.' },
          { role: 'user', content: question },
        ],
      },
      response: { choices: [{ message: asked }], usage: { prompt_tokens: 12, completion_tokens: 3 } },
      durationMs: 1200,
    },
    {
      turnId: '2',
      timestamp: at(2),
      type: 'tool_call',
      request: { name: 'get_order', args: { id: 7 } },
      response: { result: { status: 'lost' } },
      durationMs: 4,
    },
    {
      turnId: '3',
      timestamp: at(3),
      type: 'llm_call',
      request: {
        model: 'gpt',
        messages: [{ role: 'system', content: 'Be kind.' }, { role: 'user', content: question }, asked, toolMessage],
      },
      response: { choices: [{ message: { role: 'assistant', content: 'It is lost.\u001b[2J' } }] },
      durationMs: 900,
    },
    {
      turnId: '4',
      timestamp: at(4),
      type: 'tool_call',
      request: { name: 'escalate', args: {} },
      response: { error: { name: 'TypeError', message: 'no route', code: 'E_ROUTE' } },
      durationMs: 4,
      inferred: true,
    },
  ],
  observations: [{ timestamp: at(1), key: 'tier', value: 'gold' }],
  gaps: [{ code: 'PAYLOAD_DAMAGED', message: 'cut at 2,048' }],
};
const text = (options: { maxLines?: number } = {}): string =>
  renderText(viewConversation(log), {
    palette: paletteFor({ isTTY: false }),
    width: 80,
    maxLines: options.maxLines ?? 12,
  });

test('each message stands once, in the turn that brought it', () => {
  expect(text().match(/Be kind\./g)).toHaveLength(1);
  expect(text()).toContain('(3 messages as before)');
  expect(text().match(/→ get_order/g)).toHaveLength(1);
});

test('header, tokens, durations, errors, inferred marks, observations and gaps are shown', () => {
  for (const part of [
    'Session s-1',
    '1 min 5 s',
    '4 turns (2 LLM, 2 tools)',
    'escalated',
    'version 7',
    'prompt p3',
    '12 → 3 tokens',
    '1.2 s',
    'TypeError: no route [E_ROUTE]',
    'inferred',
    'observed tier: gold',
    'PAYLOAD_DAMAGED: cut at 2,048',
  ])
    expect(text()).toContain(part);
});

test('no line is wider than the terminal', () => {
  for (const line of text().split('\n')) expect(columns(line)).toBeLessThanOrEqual(80);
});

test('a terminal escape of the recording is shown and not sent', () => {
  expect(text()).toContain('It is lost.␛[2J');
  expect(text()).not.toContain('\u001b');
});

test('a long text is cut with the number of lines left out', () => {
  expect(text({ maxLines: 3 })).toMatch(/… \d+ more lines? \(--turn N shows all\)/);
});

test('colours are used on a terminal only, and not with NO_COLOR', () => {
  expect(paletteFor({ isTTY: true }, {}).red('x')).toBe('\u001b[31mx\u001b[39m');
  expect(paletteFor({ isTTY: true }, { NO_COLOR: '1' }).red('x')).toBe('x');
  expect(paletteFor({}, {}).red('x')).toBe('x');
});

test('a page escapes what the recording holds and runs no script', () => {
  const hostile = { ...log, sessionId: '<script>alert(1)</script>' };
  const html = renderHtml([viewConversation(hostile)]);
  expect(html).not.toMatch(/<script/i);
  expect(html).toContain('&#60;script&#62;');
  expect(html).toContain("default-src 'none'");
});

test('Markdown content cannot end its fence', () => {
  const hostile = { ...log, turns: [{ ...log.turns[0]!, response: { content: '```\n# not a heading' } }] };
  expect(renderMarkdown([viewConversation(hostile)])).toContain('````text\n```\n# not a heading\n````');
});

test('Anthropic and Responses bodies are read alike', () => {
  const bodies = [
    {
      content: [
        { type: 'thinking', thinking: 'hm' },
        { type: 'tool_use', id: 't', name: 'look', input: { a: 1 } },
      ],
    },
    {
      output: [
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] },
        { type: 'function_call', call_id: 't', name: 'look', arguments: '{"a":1}' },
      ],
    },
  ];
  for (const response of bodies) {
    const view = viewConversation({ ...log, turns: [{ ...log.turns[0]!, response }] });
    const shown = renderText(view, { palette: paletteFor({}), width: 80, maxLines: 99 });
    expect(shown).toContain('(thinking) hm');
    expect(shown).toContain('→ look {"a":1}');
  }
});

test('wide characters count two columns', () => {
  expect(columns('日本')).toBe(4);
  expect(columns('e\u0301')).toBe(1);
});
