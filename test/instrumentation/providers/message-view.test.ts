import { openaiChat } from '../../../instrumentation/providers/openai-chat';
import { boundedValue, cutText } from '../../../instrumentation/providers/bounded-value';
import { chatFixture } from '../../conformance/provider-fixtures';
import type { Json } from '../../conformance/provider.case';
import { requestOf } from '../../conformance/provider.case';

interface Message {
  role: string;
  parts: Json[];
}
const view = (more: Json, body: Json = {}) => openaiChat.view(requestOf(chatFixture, more), { body, finished: true });
const input = (messages: unknown[]): { json: string; messages: Message[] } => {
  const json = String(view({ messages })['gen_ai.input.messages']);
  return { json, messages: JSON.parse(json) as Message[] };
};
const turn = (index: number): Json => ({
  role: index % 2 ? 'assistant' : 'user',
  content: `Message ${index} ${'word '.repeat(30)}`,
});

describe('gen_ai.input.messages', () => {
  it('has a short conversation whole', () => {
    expect(
      input([
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hi' },
      ]).messages,
    ).toEqual([
      { role: 'system', parts: [{ type: 'text', content: 'Be brief.' }] },
      { role: 'user', parts: [{ type: 'text', content: 'Hi' }] },
    ]);
  });

  it('keeps the system prompt and the newest messages of a long one, with a count of what is left out', () => {
    const { json, messages } = input([
      { role: 'system', content: 'Be brief.' },
      ...Array.from({ length: 200 }, (_, i) => turn(i)),
    ]);
    expect(Buffer.byteLength(json)).toBeLessThanOrEqual(2048);
    expect(messages[0]?.role).toBe('system');
    expect(messages[1]).toEqual({
      role: 'elided',
      parts: [{ type: 'elided', content: `… ${200 - (messages.length - 2)} earlier messages` }],
    });
    expect(messages.at(-1)?.parts[0]?.['content']).toContain('Message 199');
    expect(messages.length).toBeGreaterThan(3);
  });

  it.each([
    ['ASCII', 'a b'.repeat(50_000)],
    ['emoji', '🌤'.repeat(50_000)],
    ['control characters', '\u0001"\\'.repeat(50_000)],
    ['lone surrogates', '\ud83c'.repeat(50_000)],
  ])('is valid JSON of at most 2 KB for a huge message of %s, and cut between code points', (_name, content) => {
    const { json, messages } = input([{ role: 'user', content }]);
    expect(Buffer.byteLength(json)).toBeLessThanOrEqual(2048);
    const text = String(messages[0]?.parts[0]?.['content']);
    expect(text.endsWith('…')).toBe(true);
    expect(content.startsWith(text.slice(0, -1))).toBe(true);
    if (content.startsWith('🌤')) expect(text.slice(0, -1).length % '🌤'.length).toBe(0);
  });

  it('stays within its budget for a message of very many parts', () => {
    const parts = Array.from({ length: 5000 }, (_, i) => ({ type: 'text', text: `part ${i}` }));
    const { json } = input([{ role: 'user', content: parts }]);
    expect(Buffer.byteLength(json)).toBeLessThanOrEqual(2048);
    expect(json).toContain('more parts');
  });

  it('has a note of size and type in place of base64 media', () => {
    const url = `data:image/png;base64,${'A'.repeat(4000)}`;
    const { json } = input([
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url } },
          { type: 'input_audio', input_audio: { data: 'UklGRg9z'.repeat(100), format: 'wav' } },
        ],
      },
    ]);
    expect(json).toContain('[image/png, 3000 bytes]');
    expect(json).not.toContain('AAAA');
    expect(json).toContain('[800 characters of base64]');
  });

  it('costs no more for a long history than for a short one', () => {
    let read = 0;
    const watched = new Proxy(
      Array.from({ length: 10_000 }, (_, i) => turn(i)),
      {
        get(target, key, receiver) {
          if (typeof key === 'string' && /^\d+$/.test(key)) read += 1;
          return Reflect.get(target, key, receiver) as unknown;
        },
      },
    );
    view({ messages: watched });
    expect(read).toBeLessThan(50);
  });
});

describe('gen_ai.output.messages', () => {
  it('is at most 4 KB for many choices with long answers and calls', () => {
    const call = {
      id: 'c',
      type: 'function',
      function: { name: 'f', arguments: JSON.stringify({ rows: Array(5000).fill('cell') }) },
    };
    const choices = Array.from({ length: 8 }, (_, index) => ({
      index,
      message: { role: 'assistant', content: 'long '.repeat(5000), tool_calls: [call] },
      finish_reason: 'stop',
    }));
    const json = String(view({}, { choices })['gen_ai.output.messages']);
    expect(Buffer.byteLength(json)).toBeLessThanOrEqual(4096);
    expect(JSON.parse(json)).toHaveLength(8);
  });
});

describe('gen_ai.tool.definitions', () => {
  it('names the tools only, and counts those that do not fit', () => {
    const tool = (name: string): Json => ({
      type: 'function',
      function: { name, description: 'secret text', parameters: { type: 'object' } },
    });
    expect(view({ tools: [tool('weather')] })['gen_ai.tool.definitions']).toBe(
      '[{"type":"function","name":"weather"}]',
    );
    const many = JSON.parse(
      String(view({ tools: Array.from({ length: 400 }, (_, i) => tool(`tool_${i}`)) })['gen_ai.tool.definitions']),
    ) as Json[];
    expect(many.at(-1)).toEqual({ type: 'elided', name: `… ${400 - (many.length - 1)} more` });
  });
});

describe('the settings of a chat request', () => {
  it('stand under the newest names of the conventions', () => {
    const request = {
      max_completion_tokens: 100,
      max_tokens: 7,
      temperature: 0,
      top_p: 0.5,
      frequency_penalty: 0.1,
      presence_penalty: -0.1,
      seed: 42,
      n: 2,
      stop: 'END',
      stream: true,
      service_tier: 'flex',
      response_format: { type: 'json_schema' },
    };
    expect(view(request, chatFixture.bodies['text'])).toMatchObject({
      'gen_ai.request.max_tokens': 100,
      'gen_ai.request.temperature': 0,
      'gen_ai.request.top_p': 0.5,
      'gen_ai.request.frequency_penalty': 0.1,
      'gen_ai.request.presence_penalty': -0.1,
      'gen_ai.request.seed': 42,
      'gen_ai.request.choice.count': 2,
      'gen_ai.request.stop_sequences': ['END'],
      'gen_ai.request.stream': true,
      'gen_ai.output.type': 'json',
      'openai.request.service_tier': 'flex',
      'openai.response.system_fingerprint': 'fp_1',
      'gen_ai.response.id': 'chatcmpl-2',
      'gen_ai.usage.input_tokens': 20,
      'gen_ai.usage.output_tokens': 9,
      'gen_ai.usage.cache_read.input_tokens': 4,
      'gen_ai.usage.reasoning.output_tokens': 3,
    });
  });

  it('are left out where they say nothing', () => {
    const names = Object.keys(view({ n: 1, stream: false, service_tier: 'auto' }));
    for (const name of [
      'gen_ai.request.choice.count',
      'gen_ai.request.stream',
      'openai.request.service_tier',
      'gen_ai.conversation.id',
      'error.type',
    ])
      expect(names).not.toContain(name);
  });
});

describe('cutText', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])('keeps to %i bytes and to code points', (limit) => {
    const cut = cutText('aé🌤b€z', limit);
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(Math.max(3, limit));
    expect(Buffer.from(cut).toString()).toBe(cut);
  });
});

describe('boundedValue', () => {
  it('is bounded in depth and number of values', () => {
    let deep: unknown = 'x';
    for (let i = 0; i < 10_000; i += 1) deep = [deep];
    const wide = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`key${i}`, { value: i }]));
    for (const value of [deep, wide]) {
      expect(JSON.stringify(boundedValue(value, { text: 64, nodes: 100 })).length).toBeLessThan(5_000);
    }
  });
});
