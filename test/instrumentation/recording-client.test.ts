import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { RecordingClient } from '../../instrumentation/recording-client';
import { startLlmServer } from '../replay/injected/llm-server';
import type { LlmServer } from '../replay/injected/llm-server';

let server: LlmServer;
beforeAll(async () => {
  server = await startLlmServer();
});
afterAll(() => server.close());

const anthropic = (): Anthropic => new Anthropic({ apiKey: 'k', baseURL: server.url, maxRetries: 0 });
const openai = (): OpenAI => new OpenAI({ apiKey: 'k', baseURL: `${server.url}/v1`, maxRetries: 0 });
const ask = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hello' }] };

async function collect(stream: AsyncIterable<unknown>): Promise<unknown[]> {
  const items: unknown[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

describe.each([
  ['anthropic', anthropic],
  ['openai', openai],
] as const)('with the %s client', (_name, make) => {
  test('the message comes back as the client gave it and stands in the log', async () => {
    const client = new RecordingClient({ sessionId: 's', client: make(), agentVersion: 'a', promptVersion: 'p' });
    const message = await client.createMessage(ask);
    const log = client.getExecutionLog();
    expect(log).toMatchObject({ sessionId: 's', agentVersion: 'a', promptVersion: 'p' });
    expect(log.turns).toHaveLength(1);
    expect(log.turns[0]).toMatchObject({
      type: 'llm_call',
      request: ask,
      response: JSON.parse(JSON.stringify(message)),
    });
  });

  test('a stream stays the object of the SDK and its assembled message stands in the log', async () => {
    const sdk = make();
    const client = new RecordingClient({ sessionId: 's', client: sdk });
    const stream = await client.createMessage<AsyncIterable<unknown>>({ ...ask, stream: true });
    expect(stream.constructor.name).toBe('Stream');
    const items = await collect(stream);
    const [turn] = client.getExecutionLog().turns;
    expect(turn?.items).toEqual(JSON.parse(JSON.stringify(items)));
    expect(turn?.outcome).toBe('ok');
    expect(JSON.stringify(turn?.response)).toMatch(/answer (msg|chatcmpl)/);
  });

  test('a stream that is given up is recorded as far as it was read', async () => {
    const client = new RecordingClient({ sessionId: 's', client: make() });
    const stream = await client.createMessage<AsyncIterable<unknown>>({ ...ask, stream: true });
    for await (const item of stream) {
      expect(item).toBeDefined();
      break;
    }
    const [turn] = client.getExecutionLog().turns;
    expect(turn).toMatchObject({ outcome: 'aborted' });
    expect(turn?.items).toHaveLength(1);
  });

  test('both branches of a split stream get every item and the turn is recorded once', async () => {
    const client = new RecordingClient({ sessionId: 's', client: make() });
    const stream = await client.createMessage<{ tee(): [AsyncIterable<unknown>, AsyncIterable<unknown>] }>({
      ...ask,
      stream: true,
    });
    const [left, right] = stream.tee();
    const [a, b] = await Promise.all([collect(left), collect(right)]);
    expect(a).toEqual(b);
    expect(client.getExecutionLog().turns[0]?.items).toHaveLength(a.length);
  });

  test('an error of the client is rethrown as it is and recorded with its status and body', async () => {
    const client = new RecordingClient({ sessionId: 's', client: make() });
    const error = await client.createMessage(ask, { headers: { 'x-fail': '429' } }).catch((e: unknown) => e);
    expect((error as Error).constructor.name).toBe('RateLimitError');
    expect(client.getExecutionLog().turns[0]).toMatchObject({
      status: 429,
      outcome: 'error',
      response: { error: { type: 'rate_limit_error', message: 'slow down' } },
    });
  });
});

test('changing the messages after the call does not change the log', async () => {
  const client = new RecordingClient({ sessionId: 's', client: anthropic() });
  const messages = [{ role: 'user', content: 'hello' }];
  const pending = client.createMessage({ ...ask, messages });
  messages.push({ role: 'user', content: 'later' });
  await pending;
  expect(client.getExecutionLog().turns[0]?.request['messages']).toEqual([{ role: 'user', content: 'hello' }]);
});

test('the result of a tool is the object that the executor returned', async () => {
  const client = new RecordingClient({ sessionId: 's', client: anthropic() });
  const order = { id: 7, at: new Date(0) };
  expect(await client.callTool('get_order', { id: 7 }, () => order)).toBe(order);
  expect(client.getExecutionLog().turns[0]).toMatchObject({
    request: { name: 'get_order', args: { id: 7 } },
    response: { result: { id: 7, at: '1970-01-01T00:00:00.000Z' } },
  });
});

test('an error of a tool is rethrown unchanged and recorded by name, message and code', async () => {
  const client = new RecordingClient({ sessionId: 's', client: anthropic() });
  const error = Object.assign(new TypeError('no such order'), { code: 'E_ORDER' });
  await expect(client.callTool('get_order', {}, () => Promise.reject(error))).rejects.toBe(error);
  expect(client.getExecutionLog().turns[0]?.response).toEqual({
    error: { name: 'TypeError', message: 'no such order', code: 'E_ORDER' },
  });
});

test('parallel calls stand in the order of issue with their order of completion', async () => {
  const client = new RecordingClient({ sessionId: 's', client: anthropic() });
  const gates: (() => void)[] = [];
  const slow = (): Promise<void> => new Promise((resolve) => gates.push(resolve));
  const all = ['a', 'b', 'c'].map((name) => client.callTool(name, {}, slow));
  gates.reverse().forEach((open) => open());
  await Promise.all(all);
  const { turns } = client.getExecutionLog();
  expect(turns.map((turn) => turn.request['name'])).toEqual(['a', 'b', 'c']);
  expect(turns.map((turn) => turn.order?.end)).toEqual([6, 5, 4]);
});

test('a call under way is open in the log', () => {
  const client = new RecordingClient({ sessionId: 's', client: anthropic() });
  void client.callTool('wait', {}, () => new Promise(() => undefined));
  expect(client.getExecutionLog().turns[0]).toMatchObject({ outcome: 'open', response: {} });
});

test('arguments that are no JSON are named as a gap and do not disturb the call', async () => {
  const client = new RecordingClient({ sessionId: 's', client: { messages: { create: () => ({ ok: true }) } } });
  const circular: Record<string, unknown> = {};
  circular['self'] = circular;
  expect(await client.createMessage(circular)).toEqual({ ok: true });
  expect(client.getExecutionLog().gaps?.[0]?.code).toBe('VALUE_NOT_RECORDED');
});

test('fields are spread over the log', () => {
  const client = new RecordingClient({ sessionId: 's', client: anthropic() });
  const log = client.getExecutionLog({ outcome: 'escalated', metadata: { score: 55 }, custom: 1 });
  expect(log).toMatchObject({ outcome: 'escalated', metadata: { score: 55 }, custom: 1 });
});

test('a client of neither shape is refused', () => {
  expect(() => new RecordingClient({ sessionId: 's', client: {} as never })).toThrow(
    expect.objectContaining({ code: 'USAGE' }) as Error,
  );
});

test('a conversation of growing histories is kept in memory that grows with its new content', async () => {
  const client = new RecordingClient({ sessionId: 's', client: { messages: { create: () => ({}) } } });
  const messages: { role: string; content: string }[] = [];
  for (let i = 0; i < 80; i++) {
    messages.push({ role: 'user', content: `${i}${'x'.repeat(10_000)}` });
    await client.createMessage({ model: 'm', messages });
  }
  const { store } = (client as unknown as { log: { store: { size: number } } }).log;
  // 80 messages of 10 KB; their histories written out would be 32 MB.
  expect(store.size).toBeLessThan(0.9e6);
  expect(client.getExecutionLog().turns.at(-1)?.request['messages']).toHaveLength(80);
});
