import Anthropic from '@anthropic-ai/sdk';
import { anthropicMessages } from '../../../instrumentation/providers/anthropic-messages';
import { anthropicFixture } from '../../conformance/provider-fixtures';
import type { Json } from '../../conformance/provider.case';
import { parseStream, requestOf, serveBody } from '../../conformance/provider.case';

const request = requestOf(anthropicFixture, { stream: true });
const whole = anthropicFixture.bodies['thinking, text and tool'] as Json;
const stream = anthropicFixture.streams[0]?.stream ?? '';
const parse = (text: string) => parseStream(anthropicMessages, text, request);
const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
const errorEvent = `event: error\ndata: ${JSON.stringify(overloaded)}\n\n`;

describe('an Anthropic stream', () => {
  it('that was cut within the input of a tool keeps the text that arrived', () => {
    const read = parse(stream.slice(0, stream.indexOf('az\\"}')));
    expect(read.finished).toBe(false);
    expect(anthropicMessages.toolCalls(read.body)).toEqual([{ id: 'toolu_1', name: 'weather', args: '{"city": "Gr' }]);
    expect(read.body['stop_reason']).toBeNull();
  });

  it('with an error in the middle names it and keeps what came before', () => {
    const read = parse(stream.slice(0, stream.indexOf('event: content_block_stop')) + errorEvent);
    expect(read.error).toEqual({ type: 'overloaded_error', message: 'Overloaded' });
    expect(read.finished).toBe(false);
    expect(read.body['content']).toEqual([{ type: 'thinking', thinking: 'Graz, then.', signature: 'c2ln' }]);
  });

  it('that is nothing but an error is the error body', () => {
    expect(parse(errorEvent)).toEqual({
      body: overloaded,
      finished: false,
      error: overloaded.error && { type: 'overloaded_error', message: 'Overloaded' },
    });
  });

  it('with an error encodes to a stream that the SDK refuses with the same error', async () => {
    const failures: unknown[] = [];
    for (const text of [errorEvent, stream.slice(0, stream.indexOf('event: content_block_stop')) + errorEvent]) {
      const encoded = anthropicMessages.encodeResponse(parse(text).body, request);
      failures.push(
        await serveBody(encoded, (origin) =>
          new Anthropic({ apiKey: 'none', baseURL: origin, maxRetries: 0 }).messages
            .stream(anthropicFixture.request as never)
            .finalMessage()
            .catch((error: unknown) => error),
        ),
      );
    }
    for (const failure of failures) {
      expect(failure).toBeInstanceOf(Anthropic.APIError);
      expect((failure as Error).message).toContain('Overloaded');
    }
  });

  it('takes the counters of message_delta as totals and leaves out those that are null', () => {
    const head = {
      type: 'message_start',
      message: { type: 'message', content: [], usage: { input_tokens: 5, output_tokens: 1 } },
    };
    const end = {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn' },
      usage: { output_tokens: 9, input_tokens: null },
    };
    const text = [head, end].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
    expect(parse(text).body['usage']).toEqual({ input_tokens: 5, output_tokens: 9 });
  });
});

describe('tool results', () => {
  it('come with their error mark, as JSON, text or parts', () => {
    const result = (tool_use_id: string, content: unknown, more: Json = {}): Json => ({
      type: 'tool_result',
      tool_use_id,
      content,
      ...more,
    });
    const image = { type: 'image', source: { type: 'url', url: 'https://x.example/a.png' } };
    const content = [
      result('a', '{"ok":true}'),
      result('b', [{ type: 'text', text: 'No such city' }], { is_error: true }),
      result('c', [{ type: 'text', text: 'see' }, image]),
      result('d', undefined),
      { type: 'text', text: 'and go on' },
    ];
    const messages = [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: [] },
      { role: 'user', content },
    ];
    expect(anthropicMessages.toolResults(requestOf(anthropicFixture, { messages }))).toEqual([
      { id: 'a', content: { ok: true }, isError: false },
      { id: 'b', content: 'No such city', isError: true },
      { id: 'c', content: [{ type: 'text', text: 'see' }, image], isError: false },
      { id: 'd', content: null, isError: false },
    ]);
  });
});

describe('the view', () => {
  const view = anthropicMessages.view(
    requestOf(anthropicFixture, { top_k: 5, stop_sequences: ['END'], stream: true }),
    {
      body: whole,
      finished: true,
    },
  );

  it('counts cached tokens into the input tokens', () => {
    expect(view).toMatchObject({
      'gen_ai.usage.input_tokens': 12 + 30 + 5,
      'gen_ai.usage.cache_read.input_tokens': 30,
      'gen_ai.usage.cache_write.input_tokens': 5,
      'gen_ai.usage.output_tokens': 40,
    });
  });

  it('has the settings of the request under the names of the conventions', () => {
    expect(view).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'anthropic',
      'gen_ai.request.model': 'claude-test',
      'gen_ai.response.model': 'claude-test-1',
      'gen_ai.request.max_tokens': 500,
      'gen_ai.request.top_k': 5,
      'gen_ai.request.stop_sequences': ['END'],
      'gen_ai.request.stream': true,
      'gen_ai.response.finish_reasons': ['tool_use'],
      'server.address': 'gateway.example',
      'server.port': 443,
    });
  });

  it('has no signature and no encrypted reasoning in the messages', () => {
    const output = String(view['gen_ai.output.messages']);
    expect(output).toContain('Graz, then.');
    expect(output).not.toContain('c2ln');
    expect(output).not.toContain('cmVkYWN0ZWQ=');
  });
});

describe('matches', () => {
  const at = (path: string, body: Json = anthropicFixture.request): boolean =>
    anthropicMessages.matches({ method: 'POST', url: new URL(`https://gateway.example${path}`), headers: [], body });

  it('knows the endpoint behind any prefix, and no endpoint beside it', () => {
    expect(at('/v1/messages')).toBe(true);
    expect(at('/anthropic/v1/messages?beta=true')).toBe(true);
    expect(at('/v1/messages/count_tokens')).toBe(false);
    expect(at('/v1/messages/batches')).toBe(false);
    expect(at('/v1/threads/thread_1/messages', { role: 'user', content: 'x' })).toBe(false);
  });
});

describe('shape', () => {
  it('agrees for an edited conversation and differs for another model, tool or role', () => {
    const shape = (more: Json): string => anthropicMessages.shape(requestOf(anthropicFixture, more));
    expect(shape({ messages: [{ role: 'user', content: 'Another question' }], temperature: 1 })).toBe(shape({}));
    expect(shape({ model: 'claude-other' })).not.toBe(shape({}));
    expect(shape({ tools: [{ name: 'other' }] })).not.toBe(shape({}));
    expect(shape({ messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a' }] }] })).not.toBe(
      shape({}),
    );
  });
});

describe('withText', () => {
  it('replaces the answer and drops the calls', () => {
    const body = anthropicMessages.withText('Changed.', request, whole);
    expect(anthropicMessages.answerText(body)).toBe('Changed.');
    expect(anthropicMessages.toolCalls(body)).toEqual([]);
    expect(body).toMatchObject({ id: 'msg_1', stop_reason: 'end_turn', model: 'claude-test-1' });
  });

  it('makes a message that the SDK streams where nothing was recorded', async () => {
    const body = anthropicMessages.withText('Hello', request, overloaded);
    const final = await serveBody(anthropicMessages.encodeResponse(body, request), (origin) =>
      anthropicFixture.accumulate(origin, anthropicFixture.request),
    );
    expect(final).toMatchObject({
      model: 'claude-test',
      content: [{ type: 'text', text: 'Hello' }],
      stop_reason: 'end_turn',
    });
  });
});
