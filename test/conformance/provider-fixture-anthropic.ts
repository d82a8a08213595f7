import Anthropic from '@anthropic-ai/sdk';
import type { Json, ProviderFixture } from './provider.case';

const named = (events: readonly Json[]): string =>
  events.map((event) => `event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`).join('');

const anthropic = (origin: string): Anthropic => new Anthropic({ apiKey: 'none', baseURL: origin, maxRetries: 0 });

const messageHead: Json = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-test-1',
  content: [],
  stop_reason: null,
  stop_sequence: null,
  usage: { input_tokens: 12, cache_read_input_tokens: 30, cache_creation_input_tokens: 5, output_tokens: 1 },
};
const messageEnd = (stop_reason: string, output_tokens: number): Json[] => [
  {
    type: 'message_delta',
    delta: { stop_reason, stop_sequence: null, stop_details: null },
    usage: { input_tokens: 12, cache_read_input_tokens: 30, cache_creation_input_tokens: 5, output_tokens },
  },
  { type: 'message_stop' },
];

function block(index: number, content_block: Json, ...deltas: readonly Json[]): Json[] {
  return [
    { type: 'content_block_start', index, content_block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
}

const citation: Json = {
  type: 'char_location',
  cited_text: 'Graz',
  document_index: 0,
  start_char_index: 0,
  end_char_index: 4,
};

export const anthropicFixture: ProviderFixture = {
  id: 'anthropic-messages',
  path: '/v1/messages',
  headers: [['anthropic-version', '2023-06-01']],
  request: {
    model: 'claude-test',
    max_tokens: 500,
    system: 'Be brief.',
    messages: [{ role: 'user', content: 'What is the weather in Graz?' }],
    tools: [{ name: 'weather', input_schema: { type: 'object' } }],
  },
  bodies: {
    'thinking, text and tool': {
      ...messageHead,
      content: [
        { type: 'thinking', thinking: 'Graz, then.', signature: 'c2ln' },
        { type: 'redacted_thinking', data: 'cmVkYWN0ZWQ=' },
        { type: 'text', text: 'One moment 🌤', citations: [citation] },
        { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Graz', days: [1, 2] } },
        { type: 'tool_use', id: 'toolu_2', name: 'now', input: {} },
      ],
      stop_reason: 'tool_use',
      usage: { input_tokens: 12, cache_read_input_tokens: 30, cache_creation_input_tokens: 5, output_tokens: 40 },
    },
  },
  streams: [
    {
      name: 'thinking, text and tool',
      stream: named([
        { type: 'message_start', message: messageHead },
        { type: 'ping' },
        ...block(
          0,
          { type: 'thinking', thinking: '', signature: '' },
          { type: 'thinking_delta', thinking: 'Graz,' },
          { type: 'thinking_delta', thinking: ' then.' },
          { type: 'signature_delta', signature: 'c2ln' },
        ),
        ...block(1, { type: 'redacted_thinking', data: 'cmVkYWN0ZWQ=' }),
        ...block(
          2,
          { type: 'text', text: '' },
          { type: 'text_delta', text: 'One ' },
          { type: 'text_delta', text: 'moment 🌤' },
        ),
        ...block(
          3,
          { type: 'tool_use', id: 'toolu_1', name: 'weather', input: {} },
          { type: 'input_json_delta', partial_json: '' },
          { type: 'input_json_delta', partial_json: '{"city": "Gr' },
          { type: 'input_json_delta', partial_json: 'az"}' },
        ),
        ...block(
          4,
          { type: 'tool_use', id: 'toolu_2', name: 'now', input: {} },
          { type: 'input_json_delta', partial_json: '' },
        ),
        ...messageEnd('tool_use', 40),
      ]),
    },
    {
      name: 'server tool and citations',
      stream: named([
        { type: 'message_start', message: messageHead },
        ...block(
          0,
          { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
          { type: 'input_json_delta', partial_json: '{"query":"Graz"}' },
        ),
        ...block(1, { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] }),
        ...block(
          2,
          { type: 'text', text: '', citations: [] },
          { type: 'citations_delta', citation },
          { type: 'text_delta', text: 'Sunny.' },
        ),
        ...messageEnd('end_turn', 17),
      ]),
    },
  ],
  accumulate: (origin, request) =>
    anthropic(origin)
      .messages.stream(request as never)
      .finalMessage() as Promise<unknown>,
  create: (origin, request) => anthropic(origin).messages.create(request as never) as Promise<unknown>,
};
