import OpenAI from 'openai';
import { anthropicFixture } from './provider-fixture-anthropic';
import type { Json, ProviderFixture } from './provider.case';

export { anthropicFixture };

const lines = (events: readonly unknown[]): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
const named = (events: readonly Json[]): string =>
  events.map((event) => `event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`).join('');

const openai = (origin: string): OpenAI => new OpenAI({ apiKey: 'none', baseURL: `${origin}/v1`, maxRetries: 0 });

function chunks(...choices: readonly (Json | Json[])[]): Json[] {
  return choices.map((choice) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1700000000,
    model: 'gpt-test-1',
    service_tier: 'default',
    system_fingerprint: 'fp_1',
    choices: (Array.isArray(choice) ? choice : [choice]).map((item) => ({ index: 0, finish_reason: null, ...item })),
  }));
}

const chatUsage = {
  prompt_tokens: 20,
  completion_tokens: 9,
  total_tokens: 29,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 3 },
};
const toolPiece = (index: number, args: string, head: Json = {}): Json => ({
  delta: {
    tool_calls: [{ index, ...head, function: { ...(head['name'] ? { name: head['name'] } : {}), arguments: args } }],
  },
});
const toolHead = (index: number, id: string, name: string): Json => ({
  delta: { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] },
});
const token = (text: string, logprob: number): Json => ({
  token: text,
  logprob,
  bytes: [...Buffer.from(text)],
  top_logprobs: [],
});

export const chatFixture: ProviderFixture = {
  id: 'openai-chat',
  path: '/v1/chat/completions',
  request: {
    model: 'gpt-test',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'What is the weather in Graz?' },
    ],
    tools: [{ type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: {} } } }],
  },
  bodies: {
    text: chatBody({ role: 'assistant', content: 'Sunny — 21 °C 🌤', refusal: null }, 'stop'),
    tools: chatBody(
      {
        role: 'assistant',
        content: null,
        refusal: null,
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Graz"}' } },
          { id: 'call_2', type: 'function', function: { name: 'now', arguments: '' } },
        ],
      },
      'tool_calls',
    ),
  },
  streams: [
    {
      name: 'text with usage',
      request: { stream_options: { include_usage: true } },
      stream:
        lines([
          ...chunks(
            { delta: { role: 'assistant', content: '', refusal: null } },
            { delta: { content: 'Sunny' } },
            { delta: { content: ' — 21 °C 🌤' } },
            { delta: {}, finish_reason: 'stop' },
          ),
          { ...chunks([])[0], usage: chatUsage },
        ]) + 'data: [DONE]\n\n',
    },
    {
      name: 'parallel tools, interleaved',
      stream:
        lines(
          chunks(
            { delta: { role: 'assistant', content: null } },
            toolHead(0, 'call_1', 'weather'),
            toolPiece(0, '{"city":'),
            toolHead(1, 'call_2', 'now'),
            toolPiece(1, '{"zone":"U'),
            toolPiece(0, '"Graz"}'),
            toolPiece(1, 'TC"}'),
            { delta: {}, finish_reason: 'tool_calls' },
          ),
        ) + 'data: [DONE]\n\n',
    },
    {
      name: 'two choices with logprobs',
      request: { n: 2, logprobs: true },
      stream:
        lines(
          chunks(
            [{ delta: { role: 'assistant', content: '' } }, { index: 1, delta: { role: 'assistant', content: '' } }],
            { index: 1, delta: { content: 'Nein' }, logprobs: { content: [token('Nein', -0.5)], refusal: null } },
            { delta: { content: 'Ja' }, logprobs: { content: [token('Ja', -0.25)], refusal: null } },
            { delta: { content: '!' }, logprobs: { content: [token('!', -1)], refusal: null } },
            { delta: {}, finish_reason: 'stop' },
            { index: 1, delta: {}, finish_reason: 'length' },
          ),
        ) + 'data: [DONE]\n\n',
    },
    {
      name: 'refusal',
      stream:
        lines(
          chunks(
            { delta: { role: 'assistant', content: '', refusal: null } },
            { delta: { refusal: 'I cannot ' } },
            { delta: { refusal: 'help with that.' } },
            { delta: {}, finish_reason: 'stop' },
          ),
        ) + 'data: [DONE]\n\n',
    },
    {
      name: 'legacy function call',
      stream:
        lines(
          chunks(
            { delta: { role: 'assistant', content: null, function_call: { name: 'weather', arguments: '' } } },
            { delta: { function_call: { arguments: '{"city":' } } },
            { delta: { function_call: { arguments: '"Graz"}' } } },
            { delta: {}, finish_reason: 'function_call' },
          ),
        ) + 'data: [DONE]\n\n',
    },
  ],
  accumulate: (origin, request) =>
    openai(origin)
      .chat.completions.stream(request as never)
      .finalChatCompletion() as Promise<unknown>,
  create: (origin, request) => openai(origin).chat.completions.create(request as never) as Promise<unknown>,
};

function chatBody(message: Json, finish_reason: string): Json {
  return {
    id: 'chatcmpl-2',
    object: 'chat.completion',
    created: 1700000001,
    model: 'gpt-test-1',
    choices: [{ index: 0, message, logprobs: null, finish_reason }],
    usage: chatUsage,
    system_fingerprint: 'fp_1',
  };
}

const responseHead: Json = {
  id: 'resp_1',
  object: 'response',
  created_at: 1700000000,
  model: 'gpt-test-1',
  status: 'in_progress',
  error: null,
  incomplete_details: null,
  instructions: null,
  metadata: {},
  parallel_tool_calls: true,
  temperature: 1,
  tool_choice: 'auto',
  tools: [],
  top_p: 1,
  output: [],
  usage: null,
};
const reasoningItem: Json = {
  id: 'rs_1',
  type: 'reasoning',
  summary: [{ type: 'summary_text', text: 'Think about Graz.' }],
  encrypted_content: 'c2VjcmV0',
};
const callItem: Json = {
  id: 'fc_1',
  type: 'function_call',
  status: 'completed',
  call_id: 'call_1',
  name: 'weather',
  arguments: '{"city":"Graz"}',
};
const messageItem: Json = {
  id: 'msg_1',
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [
    { type: 'output_text', text: 'Sunny 🌤', annotations: [], logprobs: [] },
    { type: 'refusal', refusal: 'No more.' },
  ],
};
const responseUsage: Json = {
  input_tokens: 20,
  input_tokens_details: { cached_tokens: 4 },
  output_tokens: 9,
  output_tokens_details: { reasoning_tokens: 3 },
  total_tokens: 29,
};
const responseBody: Json = {
  ...responseHead,
  status: 'completed',
  output: [reasoningItem, callItem, messageItem],
  usage: responseUsage,
};

/** Events in which the items of the body arrive piece by piece. */
const itemEvents: Json[] = [
  { type: 'response.output_item.added', output_index: 0, item: { ...reasoningItem, summary: [] } },
  place('reasoning_summary_part.added', 0, { summary_index: 0, part: { type: 'summary_text', text: '' } }),
  place('reasoning_summary_text.delta', 0, { summary_index: 0, delta: 'Think about ' }),
  place('reasoning_summary_text.delta', 0, { summary_index: 0, delta: 'Graz.' }),
  place('reasoning_summary_text.done', 0, { summary_index: 0, text: 'Think about Graz.' }),
  place('reasoning_summary_part.done', 0, {
    summary_index: 0,
    part: { type: 'summary_text', text: 'Think about Graz.' },
  }),
  { type: 'response.output_item.done', output_index: 0, item: reasoningItem },
  { type: 'response.output_item.added', output_index: 1, item: { ...callItem, status: 'in_progress', arguments: '' } },
  place('function_call_arguments.delta', 1, { delta: '{"city":' }),
  place('function_call_arguments.delta', 1, { delta: '"Graz"}' }),
  place('function_call_arguments.done', 1, { arguments: '{"city":"Graz"}' }),
  { type: 'response.output_item.done', output_index: 1, item: callItem },
  { type: 'response.output_item.added', output_index: 2, item: { ...messageItem, status: 'in_progress', content: [] } },
  place('content_part.added', 2, {
    content_index: 0,
    part: { type: 'output_text', text: '', annotations: [], logprobs: [] },
  }),
  place('output_text.delta', 2, { content_index: 0, delta: 'Sunny ' }),
  place('output_text.delta', 2, { content_index: 0, delta: '🌤' }),
  place('output_text.done', 2, { content_index: 0, text: 'Sunny 🌤' }),
  place('content_part.added', 2, { content_index: 1, part: { type: 'refusal', refusal: '' } }),
  place('refusal.delta', 2, { content_index: 1, delta: 'No more.' }),
  place('refusal.done', 2, { content_index: 1, refusal: 'No more.' }),
  { type: 'response.output_item.done', output_index: 2, item: messageItem },
];

function place(type: string, output_index: number, fields: Json): Json {
  return { type: `response.${type}`, output_index, item_id: ['rs_1', 'fc_1', 'msg_1'][output_index], ...fields };
}

/** The stream of the response body, ending with `terminal`. */
export function responseStream(...terminal: readonly Json[]): string {
  const events = [{ type: 'response.created', response: responseHead }, ...itemEvents, ...terminal];
  return named(events.map((event, sequence_number) => ({ ...event, sequence_number })));
}

export const responsesFixture: ProviderFixture = {
  id: 'openai-responses',
  path: '/v1/responses',
  request: {
    model: 'gpt-test',
    instructions: 'Be brief.',
    input: [{ role: 'user', content: [{ type: 'input_text', text: 'What is the weather in Graz?' }] }],
    tools: [{ type: 'function', name: 'weather', parameters: {}, strict: false }],
  },
  bodies: {
    'reasoning, call and message': responseBody,
    incomplete: { ...responseBody, status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
    failed: { ...responseHead, status: 'failed', error: { code: 'server_error', message: 'It broke.' } },
  },
  streams: [
    { name: 'completed', stream: responseStream({ type: 'response.completed', response: responseBody }) },
    {
      name: 'incomplete',
      stream: responseStream({
        type: 'response.incomplete',
        response: { ...responseBody, status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
      }),
    },
  ],
  accumulate: (origin, request) =>
    openai(origin)
      .responses.stream(request as never)
      .finalResponse() as Promise<unknown>,
  create: (origin, request) => openai(origin).responses.create(request as never) as Promise<unknown>,
};

export const providerFixtures: readonly ProviderFixture[] = [chatFixture, responsesFixture, anthropicFixture];
