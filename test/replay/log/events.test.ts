import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { buildLogs } from '../../../replay/log/build-log';
import { logsToEvents, readEvents, writeEvents, type AgentEvent } from '../../../replay/log/events';
import { eventsToLogs } from '../../../replay/log/events-to-logs';
import type { ExecutionLog } from '../../../instrumentation/schema/execution-log';
import { completion, SampleRun, user } from './sample-run';

const folder = mkdtempSync(join(tmpdir(), 'reenact-events-'));

const event = (
  seconds: number,
  request_id: string,
  agent_id: string,
  event_type: AgentEvent['event_type'],
  payload: object,
): AgentEvent => ({
  timestamp: new Date(1e12 + seconds * 1000).toISOString(),
  request_id,
  agent_id,
  event_type,
  payload: payload as AgentEvent['payload'],
});

/** Two agents in one stream, as in a swarm. */
const swarm = [
  event(0, 'i1', 'planner', 'agent_init', { rng_seed: 42, agent_version: 'v1', prompt_version: 'p1', team: 'blue' }),
  event(0, 'i2', 'worker', 'agent_init', { rng_seed: 7 }),
  event(1, 'r1', 'planner', 'llm_request', { messages: ['plan'] }),
  event(2, 'r2', 'worker', 'llm_request', { messages: ['work'] }),
  event(3, 'r2', 'worker', 'llm_response', { text: 'W' }),
  event(4, 'r1', 'planner', 'llm_response', { text: 'P' }),
  event(5, 'r3', 'planner', 'tool_request', { name: 'run_shell', args: { c: 'ls' } }),
  event(6, 'r3', 'planner', 'tool_response', { result: 'files' }),
  event(7, 'r4', 'worker', 'env_observation', { key: 'row', value: 9 }),
  event(8, 'r5', 'planner', 'agent_decision', { name: 'branch', data: 'left' }),
];

async function* stream(events: AgentEvent[]): AsyncGenerator<AgentEvent> {
  yield* events;
}

test('interleaved agents become one log each', async () => {
  const logs = await eventsToLogs(stream(swarm));
  expect(logs).toMatchObject([
    {
      sessionId: 'planner',
      agentId: 'planner',
      agentVersion: 'v1',
      promptVersion: 'p1',
      metadata: { rngSeed: 42, team: 'blue' },
      startedAt: '2001-09-09T01:46:40.000Z',
      durationMs: 8000,
      turns: [
        { turnId: 'r1', type: 'llm_call', request: { messages: ['plan'] }, response: { text: 'P' }, durationMs: 3000 },
        {
          turnId: 'r3',
          type: 'tool_call',
          request: { name: 'run_shell', args: { c: 'ls' } },
          response: { result: 'files' },
        },
      ],
      decisions: [{ name: 'branch', data: 'left', requestId: 'r5' }],
    },
    {
      sessionId: 'worker',
      metadata: { rngSeed: 7 },
      turns: [{ turnId: 'r2', durationMs: 1000 }],
      observations: [{ key: 'row', value: 9, requestId: 'r4' }],
    },
  ]);
  expect(logs.every((log) => log.gaps === undefined)).toBe(true);
});

test('an agent with several sessions has a log for each', async () => {
  const logs = await eventsToLogs([
    event(0, 'i1', 'a', 'agent_init', { session_id: 's1' }),
    event(1, 'r1', 'a', 'llm_request', {}),
    event(2, 'r1', 'a', 'llm_response', {}),
    event(3, 'i2', 'a', 'agent_init', { session_id: 's2' }),
    event(4, 'r1', 'a', 'llm_request', {}),
    { ...event(5, 'r9', 'a', 'llm_request', {}), session_id: 's1' },
  ]);
  expect(logs.map((log) => [log.sessionId, log.turns.length])).toEqual([
    ['s1', 2],
    ['s2', 1],
  ]);
});

test('events without a partner are named as gaps', async () => {
  const [log] = await eventsToLogs([
    event(0, 'r1', 'a', 'llm_request', {}),
    event(1, 'r2', 'a', 'tool_response', { result: 1 }),
    event(2, 'r1', 'a', 'tool_response', { result: 1 }),
  ]);
  expect(log?.gaps?.map((gap) => gap.code)).toEqual(['UNPAIRED_RESPONSE', 'UNPAIRED_RESPONSE', 'UNPAIRED_REQUEST']);
  expect(log?.turns).toMatchObject([{ turnId: 'r1', outcome: 'open', response: {} }]);
});

test('a request id that is used again is paired in order', async () => {
  const [log] = await eventsToLogs([
    event(0, 'r', 'a', 'tool_request', { name: 't', args: 1 }),
    event(1, 'r', 'a', 'tool_request', { name: 't', args: 2 }),
    event(2, 'r', 'a', 'tool_response', { result: 1 }),
    event(3, 'r', 'a', 'tool_response', { error: { name: 'E', message: 'm' } }),
  ]);
  expect(log?.turns.map((turn) => [turn.request['args'], turn.response, turn.outcome])).toEqual([
    [1, { result: 1 }, 'ok'],
    [2, { error: { name: 'E', message: 'm' } }, 'error'],
  ]);
});

test('a recorded log becomes events in order of time', () => {
  const run = new SampleRun();
  run.session('default-session', 'start', { agentId: 'support', agentVersion: 'v7', promptVersion: 'p3' });
  run.chat([user('a')], 'b');
  run.tool('t', { x: 1 }, 'y');
  run.observe('row', 9);
  run.decide('d', 'left');
  const events = logsToEvents(buildLogs(run.recording()));
  expect(events.map((item) => [item.event_type, item.request_id, item.agent_id])).toEqual([
    ['agent_init', 'init-support', 'support'],
    ['llm_request', 'turn-1', 'support'],
    ['llm_response', 'turn-1', 'support'],
    ['tool_request', 'turn-2', 'support'],
    ['tool_response', 'turn-2', 'support'],
    ['env_observation', 'observation-1', 'support'],
    ['agent_decision', 'decision-1', 'support'],
  ]);
  expect(events[0]?.payload).toEqual({
    session_id: 'default-session',
    agent_version: 'v7',
    prompt_version: 'p3',
    metadata: { model: 'gpt-test' },
  });
  expect(events[2]?.payload).toEqual(completion('b'));
  expect(events.slice(5).map((item) => item.payload)).toEqual([
    { key: 'row', value: 9 },
    { name: 'd', data: 'left' },
  ]);
});

test('logs come back from their events with the same turns', async () => {
  const run = new SampleRun();
  for (const sessionId of ['one', 'two']) {
    run.session(sessionId, 'start', { agentId: 'same', agentVersion: 'v1' });
    run.session(sessionId, 'end', { agentId: 'same', agentVersion: 'v1', outcome: 'resolved', metadata: { score: 1 } });
  }
  for (let turn = 0; turn < 3; turn++) {
    for (const sessionId of ['one', 'two']) {
      run.chat([user(`${sessionId} ${turn}`)], 'ok', { sessionId });
      run.tool('t', { turn }, sessionId, { sessionId });
    }
  }
  const logs = buildLogs(run.recording());
  const back = await eventsToLogs(stream(logsToEvents(logs)));
  const view = (log: ExecutionLog) => ({
    ...{ sessionId: log.sessionId, agentVersion: log.agentVersion, outcome: log.outcome, metadata: log.metadata },
    turns: log.turns.map(({ type, request, response, timestamp, durationMs }) => ({
      type,
      request,
      response,
      timestamp,
      durationMs,
    })),
  });
  expect(back.map(view)).toEqual(logs.map(view));
});

test('a swarm comes back from its logs as the same events', async () => {
  const plain = (item: AgentEvent) => [item.timestamp, item.agent_id, item.event_type];
  const back = logsToEvents(await eventsToLogs(swarm));
  expect(back.map(plain)).toEqual(swarm.map(plain));
});

test.each(['e.events.jsonl', 'e.events.jsonl.gz'])('events written to %s are read back', async (name) => {
  await writeEvents(join(folder, name), swarm);
  const read: AgentEvent[] = [];
  for await (const item of readEvents(join(folder, name))) read.push(item);
  expect(read).toEqual(swarm);
});

test.each<[string, string | Buffer, string, RegExp]>([
  ['no JSON on line 2', `${JSON.stringify(swarm[0])}\n{"cut`, 'EVENTS_INVALID', /:2 is not JSON/],
  ['another type', JSON.stringify({ ...swarm[0], event_type: 'x' }), 'EVENTS_INVALID', /:1\.event_type must be one of/],
  ['no payload', JSON.stringify({ ...swarm[0], payload: 3 }), 'EVENTS_INVALID', /:1\.payload/],
  ['no time', JSON.stringify({ ...swarm[0], timestamp: 'x' }), 'EVENTS_INVALID', /timestamp/],
  ['a tool without a name', JSON.stringify({ ...swarm[6], payload: {} }), 'EVENTS_INVALID', /payload\.name/],
  ['an array', '[]', 'EVENTS_INVALID', /must be a JSON object/],
  ['nothing', '', 'LOG_EMPTY', /is empty/],
  ['damaged gzip', gzipSync('{}').subarray(0, 12), 'EVENTS_INVALID', /damaged gzip/],
])('a file with %s is refused', async (name, content, code, message) => {
  const path = join(folder, `${name.replace(/\W/g, '-')}.jsonl`);
  writeFileSync(path, content);
  const read = async () => {
    for await (const item of readEvents(path)) void item;
  };
  await expect(read()).rejects.toThrow(expect.objectContaining({ code }));
  await expect(read()).rejects.toThrow(message);
});

test('keys named __proto__ in a payload pollute nothing', async () => {
  const path = join(folder, 'proto.jsonl');
  writeFileSync(path, JSON.stringify(swarm[0]).replace('"rng_seed"', '"__proto__":{"polluted":1},"rng_seed"'));
  const logs = await eventsToLogs(readEvents(path));
  expect((logs[0]?.metadata as Record<string, unknown>)['polluted']).toBeUndefined();
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
});
