import OpenAI from 'openai';
import { openaiChat } from '../../../instrumentation/providers/openai-chat';
import { chatFixture } from '../../conformance/provider-fixtures';
import type { Json } from '../../conformance/provider.case';
import { parseStream, requestOf, serveBody } from '../../conformance/provider.case';

const request = requestOf(chatFixture, { stream: true });
const line = (event: unknown): string => `data: ${JSON.stringify(event)}\n\n`;
const delta = (fields: Json, more: Json = {}): string =>
  line({ id: 'c1', object: 'chat.completion.chunk', model: 'm', choices: [{ index: 0, delta: fields, ...more }] });
const parse = (text: string) => parseStream(openaiChat, text, request);
const message = (text: string): Json => (parse(text).body['choices'] as { message: Json }[])[0]?.message ?? {};
const json = (body: unknown, status = 200) =>
  openaiChat.parseResponse(
    {
      status,
      contentType: 'application/json',
      text: typeof body === 'string' ? body : JSON.stringify(body),
      complete: true,
    },
    request,
  );

describe('a chat stream', () => {
  it('keeps the reasoning of OpenRouter, in text and in details by index', () => {
    const read = message(
      delta({
        role: 'assistant',
        content: '',
        reasoning: 'The ',
        reasoning_details: [{ type: 'reasoning.text', text: 'The ', index: 0 }],
      }) +
        delta({
          reasoning: 'user',
          reasoning_details: [{ type: 'reasoning.text', text: 'user', index: 0, signature: null }],
        }) +
        delta({ reasoning_details: [{ type: 'reasoning.encrypted', data: 'AAA', index: 1 }] }) +
        delta({ content: 'Hi', reasoning: null }),
    );
    expect(read).toEqual({
      role: 'assistant',
      content: 'Hi',
      reasoning: 'The user',
      reasoning_details: [
        { type: 'reasoning.text', text: 'The user', index: 0, signature: null },
        { type: 'reasoning.encrypted', data: 'AAA', index: 1 },
      ],
    });
  });

  it('concatenates reasoning_content and other texts that it does not know', () => {
    expect(
      message(
        delta({ reasoning_content: 'a', x_note: 'p', score: 1 }) +
          delta({ reasoning_content: 'b', x_note: 'q', score: 2 }),
      ),
    ).toEqual({
      role: 'assistant',
      content: null,
      reasoning_content: 'ab',
      x_note: 'pq',
      score: 2,
    });
  });

  it('joins the parts of a reasoning model that streams lists of parts', () => {
    const read = message(
      delta({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'One' }] }] }) +
        delta({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: ' two' }] }] }) +
        delta({ content: 'Ans' }) +
        delta({ content: 'wer' }),
    );
    expect(read['content']).toEqual([
      { type: 'thinking', thinking: [{ type: 'text', text: 'One two' }] },
      { type: 'text', text: 'Answer' },
    ]);
  });

  it('begins a new tool call at a new id when pieces carry no index', () => {
    const call = (fields: Json): string => delta({ tool_calls: [fields] });
    const text =
      call({ id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":' } }) +
      call({ function: { arguments: '1}' } }) +
      call({ id: 'b', type: 'function', function: { name: 'g' } });
    expect(openaiChat.toolCalls(parse(text).body)).toEqual([
      { id: 'a', name: 'f', args: { x: 1 } },
      { id: 'b', name: 'g', args: {} },
    ]);
  });

  it('takes id and model of Azure from the first chunk that has them', () => {
    const text =
      line({ id: '', model: '', created: 0, choices: [], prompt_filter_results: [{ prompt_index: 0 }] }) +
      delta({ content: 'x' });
    expect(parse(text).body).toMatchObject({ id: 'c1', model: 'm', prompt_filter_results: [{ prompt_index: 0 }] });
  });

  it('is unfinished when it was cut, and finished at a finish reason of every choice or at [DONE]', () => {
    const two = requestOf(chatFixture, { n: 2, stream: true });
    const end = delta({}, { finish_reason: 'stop' });
    expect(parse(delta({ content: 'x' })).finished).toBe(false);
    expect(parse(delta({ content: 'x' }) + end).finished).toBe(true);
    expect(parse(delta({ content: 'x' }) + 'data: [DONE]\n\n').finished).toBe(true);
    expect(parseStream(openaiChat, end, two).finished).toBe(false);
  });

  it('names an error in the middle and keeps what came before', () => {
    const text =
      delta({ content: 'Half' }) + line({ error: { message: 'Overloaded', type: 'server_error', code: 503 } });
    const read = parse(text);
    expect(read.error).toEqual({ type: 'server_error', message: 'Overloaded' });
    expect(read.finished).toBe(false);
    expect(openaiChat.answerText(read.body)).toBe('Half');
  });

  it('names an error that comes as an event of its own (Groq)', () => {
    const read = parse('event: error\ndata: {"error":{"message":"Tool failed","code":"tool_use_failed"}}\n\n');
    expect(read.error).toEqual({ type: 'tool_use_failed', message: 'Tool failed' });
  });

  it('puts an own __proto__ nowhere but where it was', () => {
    const read = message(
      'data: {"choices":[{"index":0,"delta":{"__proto__":{"polluted":"yes"},"x":{"__proto__":{"polluted":"yes"}}}}]}\n\n',
    );
    expect(({} as Json)['polluted']).toBeUndefined();
    expect(read['polluted']).toBeUndefined();
  });
});

describe('an in-band error that is encoded', () => {
  it('reaches the program as an APIError of the SDK', async () => {
    const encoded = openaiChat.encodeResponse({ error: { message: 'Overloaded', type: 'server_error' } }, request);
    const failure = await serveBody(encoded, async (origin) => {
      const client = new OpenAI({ apiKey: 'none', baseURL: `${origin}/v1`, maxRetries: 0 });
      const stream = await client.chat.completions.create({ model: 'm', messages: [], stream: true });
      try {
        for await (const chunk of stream) void chunk;
      } catch (error) {
        return error;
      }
      return undefined;
    });
    expect(failure).toBeInstanceOf(OpenAI.APIError);
    expect((failure as Error).message).toContain('Overloaded');
  });
});

describe('an error body', () => {
  it.each([
    [
      'OpenAI',
      { error: { message: 'No', type: 'invalid_request_error', code: 'x' } },
      400,
      'invalid_request_error',
      'No',
    ],
    ['OpenRouter with status 200', { error: { message: 'Provider down', code: 502 } }, 200, '502', 'Provider down'],
    ['a plain text', { error: 'model not found' }, 404, '404', 'model not found'],
    ['an Azure gateway', { statusCode: 401, message: 'Access denied' }, 401, '401', 'Access denied'],
    ['Mistral', { object: 'error', message: 'Bad', type: 'invalid_model', code: '1500' }, 400, 'invalid_model', 'Bad'],
    ['FastAPI', { detail: [{ loc: ['body'], msg: 'field required' }] }, 422, '422', 'field required'],
    ['an HTML page', '<html>Bad gateway</html>', 502, '502', '<html>Bad gateway</html>'],
    ['no body', '', 503, '503', 'status 503'],
  ])('is read as it comes from %s', (_name, body, status, type, text) => {
    expect(json(body, status).error).toEqual({ type, message: text });
  });

  it('is not seen in a good answer whose error field is null', () => {
    expect(json({ error: null, choices: [] }).error).toBeUndefined();
  });
});

describe('a JSON body that was cut', () => {
  it('is unfinished, and its text is kept for people', () => {
    expect(json('{"id":"chatcmpl-1","choi')).toEqual({
      body: { raw_text: '{"id":"chatcmpl-1","choi' },
      finished: false,
    });
  });
});

describe('tool results of a request', () => {
  it('come from messages of tools and of legacy functions', () => {
    const messages = [
      { role: 'user', content: 'x' },
      { role: 'tool', tool_call_id: 'a', content: '{"ok":true}' },
      { role: 'tool', tool_call_id: 'b', content: [{ type: 'text', text: 'plain' }] },
      { role: 'function', name: 'f', content: '12345678901234567890' },
    ];
    expect(openaiChat.toolResults(requestOf(chatFixture, { messages }))).toEqual([
      { id: 'a', content: { ok: true }, isError: false },
      { id: 'b', content: 'plain', isError: false },
      { id: 'f', content: '12345678901234567890', isError: false },
    ]);
  });
});

describe('toolCalls', () => {
  it('gives arguments that are not JSON as their text, and free text of custom tools as it is', () => {
    const calls = [
      { id: 'a', type: 'function', function: { name: 'f', arguments: '{"cut' } },
      { id: 'b', type: 'custom', custom: { name: 'g', input: '1' } },
    ];
    expect(openaiChat.toolCalls({ choices: [{ message: { tool_calls: calls } }] })).toEqual([
      { id: 'a', name: 'f', args: '{"cut' },
      { id: 'b', name: 'g', args: '1' },
    ]);
  });
});

describe('withText', () => {
  it('replaces the answer of a recorded body and drops its calls', () => {
    const recorded = chatFixture.bodies['tools'] as Json;
    const body = openaiChat.withText('Changed.', request, recorded);
    expect(openaiChat.answerText(body)).toBe('Changed.');
    expect(openaiChat.toolCalls(body)).toEqual([]);
    expect(body).toMatchObject({ id: 'chatcmpl-2', choices: [{ finish_reason: 'stop' }] });
  });

  it('makes a body that the SDK reads where nothing was recorded', async () => {
    const body = openaiChat.withText('Hello', request, { error: { message: 'x' } });
    const final = await serveBody(openaiChat.encodeResponse(body, request), (origin) =>
      chatFixture.accumulate(origin, chatFixture.request),
    );
    expect(final).toMatchObject({
      model: 'gpt-test',
      choices: [{ message: { content: 'Hello' }, finish_reason: 'stop' }],
    });
  });
});

describe('usage of an encoded stream', () => {
  const usage = (host: string, more: Json): number => {
    const asked = {
      ...requestOf(chatFixture, { stream: true, ...more }),
      url: new URL(`https://${host}/v1/chat/completions`),
    };
    const text = Buffer.concat(openaiChat.encodeResponse(chatFixture.bodies['text'] as Json, asked).pieces).toString();
    return text.split('"usage"').length - 1;
  };

  it('is sent by OpenAI only when asked for, by services like it always', () => {
    expect(usage('api.openai.com', {})).toBe(0);
    expect(usage('api.openai.com', { stream_options: { include_usage: true } })).toBe(1);
    expect(usage('api.mistral.ai', {})).toBe(1);
  });
});

describe('matches', () => {
  const at = (path: string, body: Json = chatFixture.request, method = 'POST'): boolean =>
    openaiChat.matches({ method, url: new URL(`http://127.0.0.1:8080${path}`), headers: [], body });

  it('knows the endpoint behind any host and prefix', () => {
    expect(at('/v1/chat/completions')).toBe(true);
    expect(at('/openai/deployments/gpt/chat/completions?api-version=2024-10-21')).toBe(true);
    expect(at('/api/gateway/chat/completions/')).toBe(true);
  });

  it('does not know other endpoints of the same services', () => {
    expect(at('/v1/completions')).toBe(false);
    expect(at('/v1/chat/completions/chatcmpl-1', {})).toBe(false);
    expect(at('/v1/chat/completions', chatFixture.request, 'GET')).toBe(false);
    expect(at('/v1/chat/completions', {})).toBe(false);
  });
});
