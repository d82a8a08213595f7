import { gzipSync } from 'node:zlib';
import { capturesContent, describeExchange } from '../../../instrumentation/providers/describe';
import type { WireRequest, WireResponse } from '../../../instrumentation/schema/records';
import { anthropicFixture, chatFixture, providerFixtures } from '../../conformance/provider-fixtures';
import { seeded } from '../../conformance/provider.case';

function wireRequest(
  body: Buffer | object,
  path = '/v1/chat/completions',
  headers: WireRequest['headers'] = [],
): WireRequest {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
  return { method: 'POST', url: `http://127.0.0.1:9${path}`, headers, body: bytes };
}

function wireResponse(body: Buffer | string, headers: WireResponse['headers'] = [], status = 200): WireResponse {
  const bytes = Buffer.from(body);
  // In pieces of three bytes: code points and events are split everywhere.
  const chunks = Array.from({ length: Math.ceil(bytes.length / 3) }, (_, i) => ({
    seq: i,
    ms: i,
    bytes: bytes.subarray(i * 3, i * 3 + 3),
  }));
  return { status, statusText: '', headers, headSeq: 1, headMs: 1, chunks, trailers: [] };
}

describe('describeExchange', () => {
  it('reads a compressed stream that arrived in pieces', () => {
    const item = chatFixture.streams[0];
    const response = wireResponse(gzipSync(item?.stream ?? ''), [
      ['Content-Type', 'text/event-stream'],
      ['Content-Encoding', 'gzip'],
    ]);
    const described = describeExchange(wireRequest({ ...chatFixture.request, stream: true }), response);
    expect(described?.provider.id).toBe('openai-chat');
    expect(described?.spanName).toBe('chat gpt-test');
    expect(described?.response?.finished).toBe(true);
    expect(described?.provider.answerText(described.response?.body ?? {})).toBe('Sunny — 21 °C 🌤');
    expect(described?.view['server.port']).toBe(9);
  });

  it('reads a compressed request', () => {
    const body = gzipSync(JSON.stringify(chatFixture.request));
    expect(describeExchange(wireRequest(body, undefined, [['content-encoding', 'gzip']]))?.spanName).toBe(
      'chat gpt-test',
    );
  });

  it.each(providerFixtures.map((fixture) => [fixture.id, fixture] as const))(
    'picks %s by path and body on any host',
    (id, fixture) => {
      expect(describeExchange(wireRequest(fixture.request, `/prefix${fixture.path}`))?.provider.id).toBe(id);
    },
  );

  it('describes a call that got no answer', () => {
    const described = describeExchange(wireRequest(chatFixture.request), undefined, 'error');
    expect(described?.response).toBeUndefined();
    expect(described?.view['error.type']).toBe('_OTHER');
  });

  it('names how a call ended without an error of the provider', () => {
    const type = (outcome: 'ok' | 'cut' | 'aborted' | 'open') =>
      describeExchange(wireRequest(chatFixture.request), wireResponse('data: {"choices":[]}\n\n'), { outcome })?.view[
        'error.type'
      ];
    expect(type('ok')).toBeUndefined();
    expect(type('open')).toBeUndefined();
    expect(type('cut')).toBe('cut');
    expect(type('aborted')).toBe('aborted');
  });

  it('takes the error type of the provider before that of the transport', () => {
    const text = '{"type":"error","error":{"type":"rate_limit_error","message":"Slow down"}}';
    const described = describeExchange(
      wireRequest(anthropicFixture.request, '/v1/messages'),
      wireResponse(text, [], 429),
      'error',
    );
    expect(described?.view['error.type']).toBe('rate_limit_error');
  });

  it('leaves what people and models wrote out of the view when content is off', () => {
    const text = JSON.stringify(anthropicFixture.bodies['thinking, text and tool']);
    const exchange = [wireRequest(anthropicFixture.request, '/v1/messages'), wireResponse(text)] as const;
    expect(Object.keys(describeExchange(...exchange)?.view ?? {})).toEqual(
      expect.arrayContaining(['gen_ai.output.messages', 'gen_ai.system_instructions']),
    );
    const view = describeExchange(...exchange, { content: false })?.view;
    expect(view?.['gen_ai.usage.output_tokens']).toBe(40);
    expect(JSON.stringify(view)).not.toMatch(/Graz|Be brief|weather/);
  });

  it('is undefined for what is no call of a known format', () => {
    const response = wireResponse('{}');
    expect(describeExchange(wireRequest({ model: 'x', input: 'y' }, '/v1/embeddings'), response)).toBeUndefined();
    expect(describeExchange(wireRequest(Buffer.alloc(0)), response)).toBeUndefined();
    expect(describeExchange(wireRequest([chatFixture.request]), response)).toBeUndefined();
    expect(describeExchange({ ...wireRequest(chatFixture.request), url: 'not a url' }, response)).toBeUndefined();
  });

  it('never throws on random bytes', () => {
    const random = seeded(1);
    const noise = (length: number): Buffer => Buffer.from(Array.from({ length }, () => Math.floor(random() * 256)));
    const codings = ['gzip', 'br', 'deflate', 'zstd', 'identity', 'gzip, br'];
    for (let round = 0; round < 300; round += 1) {
      const headers: [string, string][] = [['content-encoding', codings[round % codings.length] ?? '']];
      describeExchange(wireRequest(noise(60), '/v1/messages', headers), wireResponse(noise(200), headers));
      describeExchange(wireRequest(chatFixture.request), wireResponse(noise(200), round % 2 ? headers : []));
    }
  });
});

describe('capturesContent', () => {
  it('is on unless the variable of the conventions switches it off', () => {
    const name = 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT';
    expect(capturesContent({})).toBe(true);
    expect(capturesContent({ [name]: 'true' })).toBe(true);
    expect(capturesContent({ [name]: 'SPAN_ONLY' })).toBe(true);
    expect(capturesContent({ [name]: 'false' })).toBe(false);
    expect(capturesContent({ [name]: 'NO_CONTENT' })).toBe(false);
  });
});
