import OpenAI from 'openai';
import { openaiResponses } from '../../../instrumentation/providers/openai-responses';
import { responsesFixture, responseStream } from '../../conformance/provider-fixtures';
import type { Json } from '../../conformance/provider.case';
import { onTheWire, parseStream, requestOf, serveBody } from '../../conformance/provider.case';

const request = requestOf(responsesFixture, { stream: true });
const whole = responsesFixture.bodies['reasoning, call and message'] as Json;
const parse = (text: string) => parseStream(openaiResponses, text, request);

describe('a responses stream', () => {
  it('that was cut is put together from the items and deltas that arrived', () => {
    const read = parse(responseStream());
    expect(read.finished).toBe(false);
    expect(read.body['status']).toBe('in_progress');
    expect(onTheWire(read.body['output'])).toEqual(onTheWire(whole['output']));
  });

  it('that was cut within a delta keeps the text before it', () => {
    const text = responseStream();
    const read = parse(text.slice(0, text.indexOf('🌤')));
    expect(openaiResponses.answerText(read.body)).toBe('Sunny ');
    expect(openaiResponses.toolCalls(read.body)).toEqual([{ id: 'call_1', name: 'weather', args: { city: 'Graz' } }]);
  });

  it('whose last event has no output keeps the items that came before', () => {
    const read = parse(responseStream({ type: 'response.completed', response: { ...whole, output: [] } }));
    expect(read.finished).toBe(true);
    expect(onTheWire(read.body['output'])).toEqual(onTheWire(whole['output']));
  });

  it('that failed is finished and names its error', () => {
    const response = {
      ...whole,
      status: 'failed',
      output: [],
      error: { code: 'rate_limit_exceeded', message: 'Slow down' },
    };
    const read = parse(responseStream({ type: 'response.failed', response }));
    expect(read).toMatchObject({ finished: true, error: { type: 'rate_limit_exceeded', message: 'Slow down' } });
  });

  it.each([
    ['in the event itself', { type: 'error', code: 'server_error', message: 'Broken', param: null }],
    ['one level down', { type: 'error', error: { type: 'server_error', message: 'Broken' } }],
  ])('with an error event names the error that stands %s', (_name, event) => {
    const read = parse(responseStream(event));
    expect(read.error).toEqual({ type: 'server_error', message: 'Broken' });
    expect(read.finished).toBe(false);
  });

  it('with an error event encodes to a stream that the SDK refuses with the same message', async () => {
    const { body } = parse(responseStream({ type: 'error', code: 'server_error', message: 'Broken', param: null }));
    const failure = await serveBody(openaiResponses.encodeResponse(body, request), async (origin) => {
      const client = new OpenAI({ apiKey: 'none', baseURL: `${origin}/v1`, maxRetries: 0 });
      const stream = await client.responses.create({ model: 'm', input: 'x', stream: true });
      try {
        for await (const event of stream) void event;
      } catch (error) {
        return error;
      }
      return undefined;
    });
    expect((failure as Error).message).toContain('Broken');
  });

  it('is not blown up by a far output index', () => {
    const item = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'x' }] };
    const read = parse(`data: ${JSON.stringify({ type: 'response.output_item.done', output_index: 4e9, item })}\n\n`);
    expect(read.body['output']).toEqual([item]);
  });
});

describe('tool calls and results', () => {
  it('are those that the program answers, of every kind', () => {
    const output = [
      { type: 'web_search_call', id: 'ws_1', status: 'completed' },
      { type: 'custom_tool_call', call_id: 'c1', name: 'sql', input: 'select 1' },
      { type: 'local_shell_call', call_id: 'c2', action: { command: ['ls'] } },
      { type: 'function_call', call_id: 'c3', name: 'now', arguments: '' },
    ];
    expect(openaiResponses.toolCalls({ output })).toEqual([
      { id: 'c1', name: 'sql', args: 'select 1' },
      { id: 'c2', name: 'local_shell_call', args: { command: ['ls'] } },
      { id: 'c3', name: 'now', args: {} },
    ]);
  });

  it('are read from the input items in order', () => {
    const input = [
      { role: 'user', content: 'x' },
      { type: 'function_call_output', call_id: 'c1', output: '{"n":1}' },
      { type: 'custom_tool_call_output', call_id: 'c2', output: [{ type: 'input_text', text: 'two' }] },
      {
        type: 'function_call_output',
        call_id: 'c3',
        output: [{ type: 'input_image', image_url: 'https://x.example/a.png' }],
      },
    ];
    expect(openaiResponses.toolResults(requestOf(responsesFixture, { input }))).toEqual([
      { id: 'c1', content: { n: 1 }, isError: false },
      { id: 'c2', content: 'two', isError: false },
      { id: 'c3', content: [{ type: 'input_image', image_url: 'https://x.example/a.png' }], isError: false },
    ]);
  });
});

describe('withText', () => {
  it('gives a body that the SDK streams, made from the recorded one or from nothing', async () => {
    for (const recorded of [whole, undefined]) {
      const body = openaiResponses.withText('Changed.', request, recorded);
      const final = (await serveBody(openaiResponses.encodeResponse(body, request), (origin) =>
        responsesFixture.accumulate(origin, responsesFixture.request),
      )) as Json;
      expect(final['output_text']).toBe('Changed.');
      expect(openaiResponses.toolCalls(body)).toEqual([]);
    }
  });
});

describe('the view', () => {
  const view = (more: Json, body: Json = whole) =>
    openaiResponses.view(requestOf(responsesFixture, more), { body, finished: true });

  it('names a conversation only when the request has one', () => {
    expect(view({})['gen_ai.conversation.id']).toBeUndefined();
    expect(view({ previous_response_id: 'resp_0' })['gen_ai.conversation.id']).toBeUndefined();
    expect(view({ conversation: 'conv_1' })['gen_ai.conversation.id']).toBe('conv_1');
    expect(view({ conversation: { id: 'conv_2' } })['gen_ai.conversation.id']).toBe('conv_2');
  });

  it('gives the finish reason in the words of the conventions', () => {
    const reason = (body: Json) => view({}, { ...whole, ...body })['gen_ai.response.finish_reasons'];
    expect(reason({})).toEqual(['tool_calls']);
    expect(reason({ output: [] })).toEqual(['stop']);
    expect(reason({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } })).toEqual([
      'max_output_tokens',
    ]);
  });

  it('has the parts of input and output in the shape of the conventions', () => {
    const shown = view({});
    expect(JSON.parse(String(shown['gen_ai.system_instructions']))).toEqual([{ type: 'text', content: 'Be brief.' }]);
    expect(JSON.parse(String(shown['gen_ai.output.messages']))).toEqual([
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', content: 'Think about Graz.' },
          { type: 'tool_call', id: 'call_1', name: 'weather', arguments: { city: 'Graz' } },
          { type: 'text', content: 'Sunny 🌤' },
          { type: 'refusal', content: 'No more.' },
        ],
        finish_reason: 'tool_calls',
      },
    ]);
  });
});

describe('a background response', () => {
  it('is unfinished while it is queued', () => {
    const text = JSON.stringify({ ...whole, status: 'queued', output: [] });
    const read = openaiResponses.parseResponse(
      { status: 200, contentType: 'application/json', text, complete: true },
      request,
    );
    expect(read.finished).toBe(false);
  });
});
