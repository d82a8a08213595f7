import Anthropic from '@anthropic-ai/sdk';
import Anthropic0 from 'anthropic0';
import OpenAI6 from 'openai';
import OpenAI4 from 'openai4';
import OpenAI5 from 'openai5';
import { chunked, json, scriptedNetwork, type Script, type ScriptedNetwork } from './scripted-network';

const COMPLETION = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'gpt-x',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
};
const event = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
const delta = (content: string): string =>
  event({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta: { content } }],
  });
const QUESTION = { model: 'gpt-x', messages: [{ role: 'user' as const, content: 'Hi' }] };

describe.each([
  ['openai 4', OpenAI4],
  ['openai 5', OpenAI5],
  ['openai 6', OpenAI6],
])('%s on the virtual network', (_name, Client) => {
  let network: ScriptedNetwork | undefined;
  const install = (script: Script): ScriptedNetwork => (network = scriptedNetwork(script));
  const client = new (Client as typeof OpenAI6)({ apiKey: 'none', baseURL: 'https://model.invalid/v1' });

  afterEach(() => network?.uninstall());

  it('completes a chat', async () => {
    const { calls } = install(json(COMPLETION));
    const answer = await client.chat.completions.create(QUESTION);
    expect(answer.choices[0]?.message.content).toBe('Hello');
    expect(JSON.parse(calls[0]?.request.body.toString() ?? '')).toEqual(QUESTION);
    expect(calls[0]?.request.url).toBe('https://model.invalid/v1/chat/completions');
  });

  it('streams a chat', async () => {
    install(chunked([delta('Hel'), delta('lo'), 'data: [DONE]\n\n']));
    let text = '';
    for await (const chunk of await client.chat.completions.create({ ...QUESTION, stream: true })) {
      text += chunk.choices[0]?.delta.content ?? '';
    }
    expect(text).toBe('Hello');
  });

  it('retries after 429 with a request of its own', async () => {
    const { calls } = install((call, index) => {
      if (index === 0) json({ error: { message: 'slow' } }, 429, [['retry-after-ms', '1']])(call, index);
      else json(COMPLETION)(call, index);
    });
    expect((await client.chat.completions.create(QUESTION)).choices[0]?.message.content).toBe('Hello');
    expect(calls).toHaveLength(2);
  });

  it('stops a stream in the middle, and the responder learns of it', async () => {
    const gone = new Promise<void>((resolve) => {
      install(({ responder }) => {
        responder.head({ status: 200, statusText: 'OK', headers: [['transfer-encoding', 'chunked']] });
        responder.chunk(Buffer.from(delta('Hel')));
        responder.onClose(resolve);
      });
    });
    for await (const chunk of await client.chat.completions.create({ ...QUESTION, stream: true })) {
      expect(chunk.choices[0]?.delta.content).toBe('Hel');
      break;
    }
    await gone;
  });
});

describe.each([
  ['anthropic 0', Anthropic0],
  ['anthropic 1', Anthropic],
])('%s on the virtual network', (_name, Client) => {
  let network: ScriptedNetwork | undefined;
  const client = new (Client as typeof Anthropic)({ apiKey: 'none', baseURL: 'https://model.invalid' });
  const params = { model: 'claude-x', max_tokens: 9, messages: [{ role: 'user' as const, content: 'Hi' }] };
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-x',
    content: [{ type: 'text', text: 'Hello' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  };

  afterEach(() => network?.uninstall());

  it('creates a message', async () => {
    network = scriptedNetwork(json(message));
    expect((await client.messages.create(params)).content).toEqual([{ type: 'text', text: 'Hello' }]);
  });

  it('streams a message through its helper', async () => {
    const events = [
      { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 1 } },
      { type: 'message_stop' },
    ];
    network = scriptedNetwork(chunked(events.map((value) => `event: ${value.type}\n${event(value)}`)));
    expect(await client.messages.stream(params).finalText()).toBe('Hello');
  });
});
