import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { RecordingClient } from '../../../instrumentation/recording-client';
import type { ExecutionLog, ExecutionTurn } from '../../../instrumentation/schema/execution-log';
import { ReplayEngine } from '../../../replay/injected/replay-engine';
import { startLlmServer } from './llm-server';
import type { LlmServer } from './llm-server';

let server: LlmServer;
beforeAll(async () => {
  server = await startLlmServer();
});
afterAll(() => server.close());

const anthropic = (): Anthropic => new Anthropic({ apiKey: 'k', baseURL: server.url, maxRetries: 0 });
const openai = (): OpenAI => new OpenAI({ apiKey: 'k', baseURL: `${server.url}/v1`, maxRetries: 0 });
const ask = (content: string) => ({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content }] });

/** Two model calls, a tool between them, a stream. */
async function agent(client: RecordingClient): Promise<unknown[]> {
  const first = await client.createMessage(ask('hello'));
  const order = await client.callTool('get_order', { id: 7 }, () => ({
    status: 'lost',
    at: new Date(0),
    r: Math.random(),
  }));
  const stream = await client.createMessage<AsyncIterable<unknown>>({ ...ask(JSON.stringify(order)), stream: true });
  const items: unknown[] = [];
  for await (const item of stream) items.push(item);
  return [first, order, items];
}

async function record(
  run: (client: RecordingClient) => unknown,
  make = anthropic as () => Anthropic | OpenAI,
): Promise<ExecutionLog> {
  const client = new RecordingClient({ sessionId: 's', client: make() });
  await run(client);
  // As it comes back from a file.
  return JSON.parse(JSON.stringify(client.getExecutionLog())) as ExecutionLog;
}

const code = (error: unknown): unknown => (error as { code?: unknown }).code;
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test.each([
  ['anthropic', anthropic],
  ['openai', openai],
])('a recorded agent gets the same messages, tool results and stream items (%s)', async (_name, make) => {
  const client = new RecordingClient({ sessionId: 's', client: make() });
  const recorded = await agent(client);
  const before = server.count();
  const engine = new ReplayEngine(JSON.parse(JSON.stringify(client.getExecutionLog())) as ExecutionLog);
  const replay = engine.createReplayClient();
  const replayed = await agent(replay);
  expect(plain(replayed)).toEqual(plain(recorded));
  expect((replayed[1] as { at: unknown }).at).toEqual(new Date(0));
  expect(server.count()).toBe(before);
  expect(engine.report()).toMatchObject({ faithful: true, total: 3, exact: 3, replayed: 3, unused: 0, live: 0 });
  expect(replay.getExecutionLog().turns.map((turn) => turn.response)).toEqual(
    client.getExecutionLog().turns.map((turn) => turn.response),
  );
});

test('a stream without recorded items is encoded from its message', async () => {
  const log = await record(agent, openai);
  log.turns.forEach((turn) => delete turn.items);
  const engine = new ReplayEngine(log, { match: 'position', onDivergence: 'recorded' });
  const [, , items] = await agent(engine.createReplayClient());
  const texts = (items as { choices: { delta: { content?: string } }[] }[]).map(
    (item) => item.choices[0]?.delta.content ?? '',
  );
  expect(texts.join('')).toBe(
    (log.turns[2]?.response as { choices: { message: { content: string } }[] }).choices[0]?.message.content,
  );
});

test('a recorded error of the client is thrown again with name, message and status', async () => {
  const failing = (client: RecordingClient): Promise<unknown> =>
    client.createMessage(ask('x'), { headers: { 'x-fail': '429' } }).catch((error: unknown) => error);
  const log = await record(failing);
  const error = await failing(new ReplayEngine(log).createReplayClient());
  expect(error).toMatchObject({ status: 429, message: expect.stringContaining('slow down') as string });
});

test('a recorded error of the client is of its own class when the engine has a client', async () => {
  const failing = (client: RecordingClient): Promise<unknown> =>
    client.createMessage(ask('x'), { headers: { 'x-fail': '429' } }).catch((error: unknown) => error);
  const log = await record(failing);
  const error = await failing(new ReplayEngine(log, { client: anthropic() }).createReplayClient());
  expect(error).toBeInstanceOf(Anthropic.RateLimitError);
});

test('a recorded error of a tool is thrown again with its class and code', async () => {
  const failing = (client: RecordingClient): Promise<unknown> =>
    client
      .callTool('t', {}, () => Promise.reject(Object.assign(new RangeError('too far'), { code: 'E_FAR' })))
      .catch((error: unknown) => error);
  const error = await failing(new ReplayEngine(await record(failing)).createReplayClient());
  expect(error).toBeInstanceOf(RangeError);
  expect(error).toMatchObject({ message: 'too far', code: 'E_FAR' });
});

test('a race ends as it was recorded, whichever call was issued first', async () => {
  for (const winner of [0, 1, 2]) {
    const racing = async (client: RecordingClient, live: boolean): Promise<unknown> => {
      const runs = [0, 1, 2].map((n) =>
        client.callTool(`t${n}`, {}, async () => {
          if (live) await new Promise((resolve) => setTimeout(resolve, n === winner ? 1 : 30));
          return n;
        }),
      );
      const first = await Promise.race(runs);
      await Promise.all(runs);
      return first;
    };
    const log = await record((client) => racing(client, true));
    expect(await racing(new ReplayEngine(log).createReplayClient(), false)).toBe(winner);
  }
});

test('another tool than the recorded one rejects with both names', async () => {
  const log = await record(agent);
  const client = new ReplayEngine(log).createReplayClient();
  await client.createMessage(ask('hello'));
  const error = await client.callTool('refund', {}, () => 1).catch((e: unknown) => e);
  expect(code(error)).toBe('REPLAY_MISMATCH');
  expect((error as Error).message).toMatch(/refund.*get_order/);
});

test('an edited prompt is never answered with the old answer, and the report names the path', async () => {
  const engine = new ReplayEngine(await record(agent));
  const error = await engine
    .createReplayClient()
    .createMessage(ask('goodbye'))
    .catch((e: unknown) => e);
  expect(code(error)).toBe('REPLAY_MISMATCH');
  expect(engine.report()).toMatchObject({ faithful: false, diverged: 1, unused: 3 });
  expect(engine.report().divergences[0]).toMatchObject({
    kind: 'diverged',
    turn: 1,
    rule: 'body',
    path: '/messages/0/content',
    expected: 'hello',
    actual: 'goodbye',
    cause: expect.stringContaining('prompt edit') as string,
  });
});

test('literal values of tool arguments are never folded', async () => {
  const log = await record((client) =>
    client.callTool('book', { date: '2031-04-05', ref: 'ord_1234567890ab' }, () => 1),
  );
  const book = (args: Record<string, unknown>): Promise<unknown> =>
    new ReplayEngine(log)
      .createReplayClient()
      .callTool('book', args, () => 2)
      .catch(code);
  expect(await book({ date: '2032-06-07', ref: 'ord_1234567890ab' })).toBe('REPLAY_MISMATCH');
  expect(await book({ date: '2031-04-05', ref: 'ord_9876543210zy' })).toBe('REPLAY_MISMATCH');
  expect(await book({ ref: 'ord_1234567890ab', date: '2031-04-05' })).toBe(1);
});

test('an id that the agent makes anew in a conversation is the same question', async () => {
  const withId = (id: string) => (client: RecordingClient) =>
    client.createMessage(ask(`trace req_${id} twice req_${id}`));
  const engine = new ReplayEngine(await record(withId('a1b2c3d4e5f6')));
  await withId('f6e5d4c3b2a1')(engine.createReplayClient());
  expect(engine.report().faithful).toBe(true);
});

test('a recording answers once: the call after the last is exhausted, the last answer is not repeated', async () => {
  let n = 0;
  const log = await record(async (client) => {
    await client.callTool('poll', {}, () => (n += 1));
    await client.callTool('poll', {}, () => (n += 1));
    await client.createMessage(ask('done'));
  });
  const client = new ReplayEngine(log).createReplayClient();
  const poll = (): Promise<unknown> => client.callTool('poll', {}, () => 0);
  expect([await poll(), await poll()]).toEqual([1, 2]);
  const error = await poll().catch((e: unknown) => e);
  expect(code(error)).toBe('REPLAY_EXHAUSTED');
  expect((error as Error).message).toContain('recorded 2 time(s)');
});

describe('when independent calls come in another order', () => {
  const calls = async (client: RecordingClient, names: readonly string[]): Promise<unknown[]> => {
    const out: unknown[] = [];
    for (const name of names) {
      out.push(await client.callTool(name, {}, () => name));
      await new Promise((resolve) => setTimeout(resolve, 3));
    }
    return out;
  };
  const outcomes = async (match: 'causal' | 'content' | 'position'): Promise<unknown> => {
    const engine = new ReplayEngine(await record((client) => calls(client, ['a', 'b'])), { match });
    const answers = await calls(engine.createReplayClient(), ['b', 'a']).catch(code);
    const { faithful, exact, relaxed } = engine.report();
    return { answers, faithful, exact, relaxed };
  };

  test('causal matching answers them and tells of the order', async () => {
    expect(await outcomes('causal')).toEqual({ answers: ['b', 'a'], faithful: false, exact: 1, relaxed: 1 });
  });

  test('content matching answers them', async () => {
    expect(await outcomes('content')).toEqual({ answers: ['b', 'a'], faithful: true, exact: 2, relaxed: 0 });
  });

  test('position matching refuses them', async () => {
    expect(await outcomes('position')).toMatchObject({ answers: 'REPLAY_MISMATCH', faithful: false });
  });

  test('parallel calls may come in any order', async () => {
    const parallel = (client: RecordingClient, names: readonly string[]): Promise<unknown[]> =>
      Promise.all(names.map((name) => client.callTool(name, {}, () => name)));
    const engine = new ReplayEngine(await record((client) => parallel(client, ['a', 'b', 'c'])));
    expect(await parallel(engine.createReplayClient(), ['c', 'a', 'b'])).toEqual(['c', 'a', 'b']);
    expect(engine.report().faithful).toBe(true);
  });
});

describe('with the policy recorded', () => {
  test('an edited question gets the answer of its place and is counted as relaxed', async () => {
    const log = await record((client) => client.createMessage(ask('hello')));
    const engine = new ReplayEngine(log, { onDivergence: 'recorded' });
    expect(await engine.createReplayClient().createMessage(ask('edited'))).toEqual(log.turns[0]?.response);
    expect(engine.report()).toMatchObject({ relaxed: 1, diverged: 0, faithful: false });
  });

  test('an edited call of a wave leaves the exact ones their own recordings', async () => {
    const log = await record((client) =>
      Promise.all([1, 2].map((id) => client.callTool('get', { id }, () => `v${id}`))),
    );
    const client = new ReplayEngine(log, { onDivergence: 'recorded' }).createReplayClient();
    const get = (id: number): Promise<unknown> => client.callTool('get', { id }, () => 0);
    expect(await Promise.all([get(3), get(1)])).toEqual(['v2', 'v1']);
  });

  test('a tool that was never called still errors, and stands in the log of the replay', async () => {
    const engine = new ReplayEngine(await record(agent), { onDivergence: 'recorded' });
    const client = engine.createReplayClient();
    expect(await client.callTool('refund', { id: 1 }, () => 1).catch(code)).toBe('REPLAY_MISMATCH');
    expect(engine.report().diverged).toBe(1);
    expect(engine.report().logs[0]?.turns[0]).toMatchObject({
      request: { name: 'refund', args: { id: 1 } },
      response: { error: { code: 'REPLAY_MISMATCH' } },
    });
  });
});

test('with the policy live a new question is asked for real and counted', async () => {
  const engine = new ReplayEngine(await record(agent), { onDivergence: 'live', client: anthropic() });
  const client = engine.createReplayClient();
  const before = server.count();
  expect(await client.createMessage(ask('new'))).toMatchObject({ type: 'message' });
  expect(await client.callTool('new_tool', {}, () => 'real')).toBe('real');
  expect(server.count()).toBe(before + 1);
  expect(engine.report()).toMatchObject({ live: 2, faithful: false });
});

describe('overrides', () => {
  const twice = async (client: RecordingClient): Promise<unknown[]> => {
    const get = (id: number): Promise<unknown> => client.callTool('get', { id }, () => ({ id, status: 'lost' }));
    return [await get(1), await get(2)];
  };
  const replay = async (toolOverrides: Record<string, unknown>): Promise<unknown[]> =>
    twice(new ReplayEngine(await record(twice), { toolOverrides }).createReplayClient());

  test.each([
    ['get', [{ s: 1 }, { s: 1 }]],
    ['get#2', [{ id: 1, status: 'lost' }, { s: 1 }]],
    ['tool:get#1', [{ s: 1 }, { id: 2, status: 'lost' }]],
    ['2', [{ id: 1, status: 'lost' }, { s: 1 }]],
    [
      'get#1/status',
      [
        { id: 1, status: { s: 1 } },
        { id: 2, status: 'lost' },
      ],
    ],
  ])('the key %s names its turns', async (key, expected) => {
    expect(await replay({ [key]: { s: 1 } })).toEqual(expected);
  });

  test('a function gets the recorded value', async () => {
    const change = (value: unknown): unknown => ({ ...(value as object), status: 'sent' });
    expect(await replay({ 'get#2': change })).toEqual([
      { id: 1, status: 'lost' },
      { id: 2, status: 'sent' },
    ]);
  });

  test('an error is thrown by the call', async () => {
    await expect(replay({ get: new Error('down') })).rejects.toThrow('down');
  });

  test('a bare name answers a call that was never recorded', async () => {
    const engine = new ReplayEngine(await record(twice), { toolOverrides: { refund: { ok: true } } });
    expect(await engine.createReplayClient().callTool('refund', {}, () => 0)).toEqual({ ok: true });
    expect(engine.report().diverged).toBe(0);
  });

  test('a text replaces the text of a model answer, in a stream too', async () => {
    const log = await record(agent);
    const engine = new ReplayEngine(log, { llmOverrides: { 'llm#1': 'other words', 'llm#2': 'streamed words' } });
    const [first, , items] = await agent(engine.createReplayClient());
    expect(first).toMatchObject({
      id: (log.turns[0]?.response as { id: string }).id,
      content: [{ text: 'other words' }],
    });
    const deltas = (items as { delta?: { text?: string } }[]).map((item) => item.delta?.text ?? '');
    expect(deltas.join('')).toBe('streamed words');
    expect(engine.report()).toMatchObject({ overridden: 2, exact: 1, diverged: 0, faithful: false });
  });

  test('what follows from an override is explained by it', async () => {
    const engine = new ReplayEngine(await record(agent), { toolOverrides: { 'get_order#1': { status: 'sent' } } });
    expect(await agent(engine.createReplayClient()).catch(code)).toBe('REPLAY_MISMATCH');
    expect(engine.report().divergences[0]?.cause).toBe('changed by your override of turn 2');
  });

  test.each([
    [{ 'get#3': 1 }, 'TURN_NOT_FOUND'],
    [{ '9': 1 }, 'TURN_NOT_FOUND'],
    [{ '#1': 1 }, 'SET_INVALID'],
    [{ 'get#0': 1 }, 'SET_INVALID'],
  ])('a key that names nothing is refused: %j', async (toolOverrides, expected) => {
    expect(await replay(toolOverrides).catch(code)).toBe(expected);
  });
});

describe('wrong input', () => {
  const turn: ExecutionTurn = {
    turnId: '1',
    timestamp: '2026-01-01T00:00:00.000Z',
    type: 'tool_call',
    request: { name: 't', args: {} },
    response: { result: 1 },
    durationMs: 1,
  };
  const log = { sessionId: 's', agentVersion: '', promptVersion: '', startedAt: turn.timestamp, turns: [turn] };
  const made = (given: unknown, options: object = {}): unknown => {
    try {
      return new ReplayEngine(given as ExecutionLog, options);
    } catch (error) {
      return code(error);
    }
  };

  test.each([
    ['no log', undefined, {}, 'LOG_INVALID'],
    ['a log without turns', { ...log, turns: [] }, {}, 'LOG_HAS_NO_CALLS'],
    ['a turn of an unknown type', { ...log, turns: [{ ...turn, type: 'x' }] }, {}, 'LOG_INVALID'],
    ['an unknown policy', log, { onDivergence: 'maybe' }, 'UNKNOWN_POLICY'],
    ['an unknown strategy', log, { match: 'fuzzy' }, 'USAGE'],
    ['live without a client', log, { onDivergence: 'live' }, 'LIVE_CLIENT_MISSING'],
  ])('%s is refused', (_name, given, options, expected) => {
    expect(made(given, options)).toBe(expected);
  });

  test('a log written by hand is replayed', async () => {
    const engine = new ReplayEngine(log as ExecutionLog);
    expect(await engine.createReplayClient().callTool('t', {}, () => 0)).toBe(1);
    expect(engine.report().faithful).toBe(true);
  });
});

test('a rejection of a replay is delivered to its awaiter only', async () => {
  const unhandled: unknown[] = [];
  const listen = (error: unknown): void => void unhandled.push(error);
  process.on('unhandledRejection', listen);
  const calls = (client: RecordingClient): Promise<unknown> =>
    Promise.allSettled(['a', 'b'].map((name) => client.callTool(name, {}, () => Promise.reject(new Error(name)))));
  await calls(new ReplayEngine(await record(calls)).createReplayClient());
  await new Promise((resolve) => setTimeout(resolve, 20));
  process.off('unhandledRejection', listen);
  expect(unhandled).toEqual([]);
});

test('a call that was open at the end of the recording stays open', async () => {
  const racing = (client: RecordingClient): Promise<unknown> =>
    Promise.race([
      client.callTool('slow', {}, () => new Promise(() => undefined)),
      client.callTool('fast', {}, () => 'fast'),
    ]);
  const engine = new ReplayEngine(await record(racing));
  expect(await racing(engine.createReplayClient())).toBe('fast');
  expect(engine.report().faithful).toBe(true);
});

test('reading on in a stream that was given up is an error, not silence', async () => {
  const first = async (client: RecordingClient, all: boolean): Promise<number> => {
    const stream = await client.createMessage<AsyncIterable<unknown>>({ ...ask('s'), stream: true });
    let n = 0;
    for await (const item of stream) {
      n += item === undefined ? 0 : 1;
      if (!all && n === 2) break;
    }
    return n;
  };
  const log = await record((client) => first(client, false));
  expect(await first(new ReplayEngine(log).createReplayClient(), false)).toBe(2);
  expect(await first(new ReplayEngine(log).createReplayClient(), true).catch(code)).toBe('REPLAY_EXHAUSTED');
});

test('turns whose last user text is equal keep their own answers', async () => {
  const turns = async (client: RecordingClient): Promise<unknown[]> => {
    const messages: { role: string; content: unknown }[] = [];
    const out: unknown[] = [];
    for (let i = 0; i < 3; i++) {
      messages.push({ role: 'user', content: 'again' });
      const { id, content } = await client.createMessage({ ...ask(''), messages });
      messages.push({ role: 'assistant', content });
      out.push(id);
    }
    return out;
  };
  let recorded: unknown[] = [];
  const log = await record(async (client) => (recorded = await turns(client)));
  expect(new Set(recorded).size).toBe(3);
  expect(await turns(new ReplayEngine(log).createReplayClient())).toEqual(recorded);
});

test('100 parallel equal and different calls each get the answer of their own', async () => {
  const calls = (client: RecordingClient): Promise<unknown[]> =>
    Promise.all(Array.from({ length: 100 }, (_, i) => client.callTool('draw', { group: i % 7 }, () => Math.random())));
  let recorded: unknown[] = [];
  const log = await record(async (client) => (recorded = await calls(client)));
  const engine = new ReplayEngine(log);
  expect(await calls(engine.createReplayClient())).toEqual(recorded);
  expect(engine.report()).toMatchObject({ faithful: true, exact: 100 });
});

test('an agent with a heartbeat is replayed all the same', async () => {
  const log = await record(agent);
  const heartbeat = setInterval(() => undefined, 5);
  try {
    const engine = new ReplayEngine(log);
    await agent(engine.createReplayClient());
    expect(engine.report().faithful).toBe(true);
  } finally {
    clearInterval(heartbeat);
  }
});

test('a log full of hostile names is replayed as data', async () => {
  const log = JSON.parse(`{
    "sessionId": "../../etc", "agentVersion": "", "promptVersion": "", "startedAt": "2026-01-01T00:00:00.000Z",
    "turns": [{ "turnId": "__proto__", "timestamp": "2026-01-01T00:00:00.000Z", "type": "tool_call", "durationMs": 1,
      "request": { "name": "__proto__", "args": { "__proto__": { "polluted": true } } },
      "response": { "result": { "__proto__": { "polluted": true } } } }]
  }`) as ExecutionLog;
  const args = JSON.parse('{ "__proto__": { "polluted": true } }') as Record<string, unknown>;
  const result = await new ReplayEngine(log).createReplayClient().callTool<unknown>('__proto__', args, () => 0);
  expect(Object.hasOwn(result as object, '__proto__')).toBe(true);
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
});
