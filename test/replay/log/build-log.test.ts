import { buildLogs } from '../../../replay/log/build-log';
import { assistant, completion, SampleRun, toolMessage, user } from './sample-run';

test('a turn shows the request as sent and the answer as received', () => {
  const run = new SampleRun();
  run.chat([user('hello')], 'hi there');
  const [log] = buildLogs(run.recording());
  expect(log?.sessionId).toBe('default-session');
  expect(log?.turns).toMatchObject([
    {
      turnId: 'turn-1',
      type: 'llm_call',
      timestamp: '2026-01-02T03:04:05.010Z',
      durationMs: 5,
      request: { model: 'gpt-test', messages: [{ role: 'user', content: 'hello' }] },
      response: completion('hi there'),
      status: 200,
      outcome: 'ok',
      provider: 'openai-chat',
    },
  ]);
});

test('a stream is assembled into the body that the provider sends without streaming', () => {
  const run = new SampleRun();
  const event = (delta: unknown, finish: string | null = null) =>
    `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  const text =
    event({ role: 'assistant', content: 'hel' }) + event({ content: 'lo' }) + event({}, 'stop') + 'data: [DONE]\n\n';
  run.exchange({ model: 'm', stream: true, messages: [user('x')] }, '', {
    responseHeaders: [['content-type', 'text/event-stream']],
    pieces: [Buffer.from(text.slice(0, 50)), Buffer.from(text.slice(50))],
  });
  const [log] = buildLogs(run.recording());
  expect(log?.turns[0]?.response).toMatchObject({
    object: 'chat.completion',
    choices: [{ message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
  });
});

test('an observed tool call is a turn with plain arguments and result', () => {
  const run = new SampleRun();
  run.tool('get_order', { id: { $reenact: 'date', value: '2026-01-01T00:00:00.000Z' } }, [1, 2]);
  const [log] = buildLogs(run.recording());
  expect(log?.turns[0]?.request).toEqual({ name: 'get_order', args: { id: '2026-01-01T00:00:00.000Z' } });
  expect(log?.turns[0]?.response).toEqual({ result: [1, 2] });
});

test('a tool that threw shows name, message and code of the error', () => {
  const run = new SampleRun();
  run.tool('t', {}, undefined, {
    outcome: 'error',
    thrown: { $reenact: 'error', value: { name: 'TypeError', message: 'no such order', own: { code: 'E_ORDER' } } },
  });
  run.tool('t', {}, undefined, { outcome: 'error', thrown: 'just text' });
  const [log] = buildLogs(run.recording());
  expect(log?.turns.map((turn) => turn.response)).toEqual([
    { error: { name: 'TypeError', message: 'no such order', code: 'E_ORDER' } },
    { error: { name: 'Thrown', message: 'just text' } },
  ]);
});

test('attempts that follow a retryable answer are one turn with all their spans', () => {
  const run = new SampleRun();
  const spans = [429, 503, 200].map((status) => run.chat([user('a')], 'b', { status }).spanId);
  const [log] = buildLogs(run.recording());
  expect(log?.turns).toHaveLength(1);
  expect(log?.turns[0]).toMatchObject({ spanIds: spans, status: 200, durationMs: 25 });
});

test('an attempt after a time-out counts as a retry when it says that it is one', () => {
  const run = new SampleRun();
  run.chat([user('a')], 'b', { outcome: 'aborted', noResponse: true, error: { name: 'AbortError', message: 'x' } });
  run.chat([user('a')], 'b', { requestHeaders: [['X-Stainless-Retry-Count', '1']] });
  expect(buildLogs(run.recording())[0]?.turns).toHaveLength(1);
});

test.each([
  ['the first was answered', {}, {}],
  ['the first was refused for good', { status: 400 }, {}],
  ['the scopes differ', { status: 429 }, { scope: 'other' }],
  ['the second began before the first had ended', { status: 429, seqEnd: 99 }, {}],
])('equal requests are two turns when %s', (_why, first, second) => {
  const run = new SampleRun();
  run.chat([user('a')], 'b', first);
  run.chat([user('a')], 'b', second);
  expect(buildLogs(run.recording())[0]?.turns).toHaveLength(2);
});

test('a call that got no answer shows its error', () => {
  const run = new SampleRun();
  const error = { name: 'TypeError', message: 'fetch failed', code: 'ECONNREFUSED' };
  run.chat([user('a')], '', { noResponse: true, outcome: 'error', error });
  expect(buildLogs(run.recording())[0]?.turns[0]).toMatchObject({ response: { error }, error, outcome: 'error' });
});

test('an error body is the response of a refused call', () => {
  const run = new SampleRun();
  const body = { error: { type: 'invalid_request_error', message: 'no' } };
  run.exchange({ model: 'm', messages: [user('a')] }, body, { status: 400, outcome: 'error' });
  expect(buildLogs(run.recording())[0]?.turns[0]).toMatchObject({ response: body, status: 400 });
});

test('all choices of an answer are kept', () => {
  const run = new SampleRun();
  const body = {
    ...completion('a'),
    choices: [0, 1, 2].map((index) => ({ index, message: assistant(`a${index}`), finish_reason: 'stop' })),
  };
  run.exchange({ model: 'm', n: 3, messages: [user('a')] }, body);
  expect(buildLogs(run.recording())[0]?.turns[0]?.response).toEqual(body);
});

test('each session has its own log, in the order in which they began', () => {
  const run = new SampleRun();
  for (let turn = 0; turn < 5; turn++) {
    for (let s = 0; s < 32; s++) {
      run.chat([user(`S${s} turn ${turn}`)], `S${s}`, { sessionId: `S${s}`, agentId: `a${s}` });
      run.tool('look', { s, turn }, s, { sessionId: `S${s}` });
    }
  }
  const logs = buildLogs(run.recording());
  expect(logs.map((log) => log.sessionId)).toEqual(Array.from({ length: 32 }, (_, s) => `S${s}`));
  for (const [s, log] of logs.entries()) {
    expect(log.agentId).toBe(`a${s}`);
    expect(log.turns.map((turn) => JSON.stringify(turn.request))).toEqual(
      [0, 1, 2, 3, 4].flatMap((turn) => [
        JSON.stringify({ model: 'gpt-test', messages: [user(`S${s} turn ${turn}`)] }),
        JSON.stringify({ name: 'look', args: { s, turn } }),
      ]),
    );
  }
});

test('calls outside every session are the prelude of each log and turns of none', () => {
  const run = new SampleRun();
  run.exchange('{}', { token: 'x' }, { kind: 'http', url: 'https://auth.example.com/token' });
  run.chat([user('a')], 'b', { sessionId: 'one' });
  run.chat([user('c')], 'd', { sessionId: 'two' });
  const logs = buildLogs(run.recording());
  expect(logs.map((log) => [log.sessionId, log.turns.length])).toEqual([
    ['one', 1],
    ['two', 1],
  ]);
  for (const log of logs) expect((log.recording?.['calls'] as unknown[]).length).toBe(2);
});

test('a session that made no call has no log', () => {
  const run = new SampleRun();
  run.session('quiet', 'start');
  run.decide('nothing', 1, { sessionId: 'quiet' });
  expect(buildLogs(run.recording())).toEqual([]);
});

test('what the program said of its session stands in the log', () => {
  const run = new SampleRun();
  const facts = { agentId: 'support', agentVersion: 'v7', promptVersion: 'p3' };
  run.session('s', 'start', facts);
  run.chat([user('a')], 'b', { sessionId: 's' });
  run.observe('row', { $reenact: 'bigint', value: '12' }, { sessionId: 's' });
  run.decide('route', { to: 'human' }, { sessionId: 's' });
  run.session('s', 'end', { ...facts, outcome: 'escalated', failure: 'wrong offer', metadata: { score: 55 } });
  const [log] = buildLogs(run.recording([{ code: 'X', message: 'y' }]));
  expect(log).toMatchObject({
    agentId: 'support',
    agentVersion: 'v7',
    promptVersion: 'p3',
    outcome: 'escalated',
    metadata: { model: 'gpt-test', score: 55, failure: 'wrong offer' },
    startedAt: '2026-01-02T03:04:05.001Z',
    runId: 'run-1',
    observations: [{ key: 'row', value: '12' }],
    decisions: [{ name: 'route', data: { to: 'human' } }],
    gaps: [{ code: 'X', message: 'y' }],
  });
});

test('garbage in place of an answer leaves the turn readable', () => {
  const run = new SampleRun();
  run.exchange('\u0000not json', Buffer.from([0xff, 0xfe, 0x00]), {});
  const [log] = buildLogs(run.recording());
  expect(log?.turns[0]?.request).toEqual({ text: '\u0000not json' });
});

test('a request nested beyond what is read is shown as text', () => {
  const run = new SampleRun();
  const text = `{"model":"m","messages":${'['.repeat(3000)}${']'.repeat(3000)}}`;
  run.exchange(text, completion('x'));
  expect(buildLogs(run.recording())[0]?.turns[0]?.request).toEqual({ text });
});

test('turns of a child process follow those of the process that started before it', () => {
  const run = new SampleRun();
  run.addProcess('0.1');
  run.chat([user('child')], 'x', { processPath: '0.1', seqStart: 1, seqEnd: 2 });
  run.chat([user('parent')], 'x', { seqStart: 5, seqEnd: 6 });
  const [log] = buildLogs(run.recording());
  expect(log?.turns.map((turn) => JSON.stringify(turn.request['messages']))).toEqual([
    JSON.stringify([user('parent')]),
    JSON.stringify([user('child')]),
  ]);
});

test('a tool result without a tool span becomes an inferred turn between the model calls', () => {
  const run = new SampleRun();
  const ask = [{ id: 'call_1', name: 'get_order', args: { id: 7 } }];
  const first = run.chat([user('where?')], ask);
  const second = run.chat([user('where?'), assistant(ask), toolMessage('call_1', { status: 'lost' })], 'it is lost');
  const [log] = buildLogs(run.recording());
  expect(log?.turns.map((turn) => [turn.type, turn.inferred])).toEqual([
    ['llm_call', undefined],
    ['tool_call', true],
    ['llm_call', undefined],
  ]);
  expect(log?.turns[1]).toMatchObject({
    request: { name: 'get_order', args: { id: 7 } },
    response: { result: { status: 'lost' } },
    timestamp: new Date(first.endMs).toISOString(),
    durationMs: second.startMs - first.endMs,
  });
});

test('an observed call covers the call that the model asked for, once', () => {
  const run = new SampleRun();
  const ask = [
    { id: 'call_1', name: 'look', args: { b: 1, a: 2 } },
    { id: 'call_2', name: 'look', args: { a: 2, b: 1 } },
  ];
  run.chat([user('x')], ask);
  run.tool('look', { a: 2, b: 1 }, 'seen');
  run.chat([user('x'), assistant(ask), toolMessage('call_1', 'seen'), toolMessage('call_2', 'again')], 'done');
  const [log] = buildLogs(run.recording());
  expect(log?.turns.map((turn) => [turn.type, turn.response['result']])).toEqual([
    ['llm_call', undefined],
    ['tool_call', 'seen'],
    ['tool_call', 'again'],
    ['llm_call', undefined],
  ]);
});

test('a tool that got a context beside the arguments of the model is covered too', () => {
  const run = new SampleRun();
  const ask = [{ id: 'call_1', name: 'look', args: { a: 2 } }];
  run.chat([user('x')], ask);
  run.tool('look', [{ a: 2 }, { context: true }], 'seen');
  run.chat([user('x'), assistant(ask), toolMessage('call_1', 'seen')], 'done');
  expect(buildLogs(run.recording())[0]?.turns).toHaveLength(3);
});

test('ids that a provider uses again in each round are told apart', () => {
  const run = new SampleRun();
  const ask = (n: number) => [{ id: 'call_0', name: 'look', args: { n } }];
  const history: unknown[] = [user('x')];
  for (let n = 1; n <= 3; n++) {
    run.chat([...history], ask(n));
    history.push(assistant(ask(n)), toolMessage('call_0', `r${n}`));
  }
  run.chat(history, 'done');
  const tools = buildLogs(run.recording())[0]?.turns.filter((turn) => turn.inferred);
  expect(tools?.map((turn) => [turn.request['args'], turn.response['result']])).toEqual([
    [{ n: 1 }, 'r1'],
    [{ n: 2 }, 'r2'],
    [{ n: 3 }, 'r3'],
  ]);
});

test('a result that the model marked as an error is an error', () => {
  const run = new SampleRun();
  const url = 'https://api.anthropic.com/v1/messages';
  const use = { type: 'tool_use', id: 'toolu_1', name: 'look', input: { a: 1 } };
  const body = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'c',
    content: [use],
    stop_reason: 'tool_use',
    usage: { input_tokens: 1, output_tokens: 1 },
  };
  run.exchange({ model: 'c', max_tokens: 9, messages: [user('x')] }, body, { url, provider: 'anthropic-messages' });
  const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'boom', is_error: true };
  run.exchange(
    {
      model: 'c',
      max_tokens: 9,
      messages: [user('x'), { role: 'assistant', content: [use] }, { role: 'user', content: [result] }],
    },
    { ...body, content: [{ type: 'text', text: 'sorry' }], stop_reason: 'end_turn' },
    { url, provider: 'anthropic-messages' },
  );
  expect(buildLogs(run.recording())[0]?.turns[1]).toMatchObject({
    inferred: true,
    request: { name: 'look', args: { a: 1 } },
    response: { error: { name: 'Error', message: 'boom' } },
  });
});

test('a conversation of growing requests shares what it repeats in memory', () => {
  const run = new SampleRun();
  const history: unknown[] = [];
  for (let turn = 0; turn < 20; turn++) {
    history.push(user(`turn ${turn}`));
    run.chat([...history], 'ok');
    history.push(assistant('ok'));
  }
  const turns = buildLogs(run.recording())[0]?.turns ?? [];
  const [before, after] = [turns[18], turns[19]].map((turn) => turn?.request['messages'] as unknown[]);
  expect(after).toHaveLength(39);
  expect(before?.every((item, index) => item === after?.[index])).toBe(true);
});
