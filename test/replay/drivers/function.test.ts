import { spawn } from 'node:child_process';
import { scryptSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { join, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import * as api from '../../../instrumentation/api';
import type { ExecutionLog } from '../../../instrumentation/schema/execution-log';
import { replayFunction } from '../../../replay/injected/replay-function';
import { runWithReplay } from '../../../replay/injected/run-with-replay';
import { FunctionWorld } from './function-world';
import type { Sdk } from './function-world';
import makeAgent from './function-agent.cjs';

const world = new FunctionWorld();
const CLIENTS = { openai: OpenAI, anthropic: Anthropic };
const ran: string[] = [];
const recordings = new Map<string, Promise<{ log: ExecutionLog; printed: string }>>();

beforeAll(() => world.start());
afterAll(() => world.stop());
beforeEach(() => void ran.splice(0));

const agentOf = (sdk: Sdk, stream = false) =>
  makeAgent(api, { sdk, Client: CLIENTS[sdk], base: world.base, stream, ran: (name) => void ran.push(name) });

function recorded(sdk: Sdk = 'openai', options: { stream?: boolean; how?: string } = {}) {
  const key = JSON.stringify([sdk, options]);
  const known = recordings.get(key) ?? world.record(sdk, options);
  recordings.set(key, known);
  return known;
}

describe.each(['openai', 'anthropic'] as const)('an agent over the SDK of %s', (sdk) => {
  test.each([false, true])('gives what it gave when it was recorded (stream: %s)', async (stream) => {
    const { log, printed } = await recorded(sdk, { stream });
    const before = world.served;
    const { value, report } = await replayFunction(agentOf(sdk, stream).converse, { executionLog: log });
    expect(value).toBe(printed);
    // Two questions, two tools, two requests; what the tool asked is answered with it.
    expect(report).toMatchObject({ faithful: true, total: 6, exact: 6, unused: 0, diverged: 0, blocked: 0 });
    expect(world.served).toBe(before);
    expect(ran).toEqual([]);
  });
});

test('the session of a log is that of the function, whether it begins it or not', async () => {
  const { log, printed } = await recorded('openai', { how: 'inSession' });
  for (const fn of [agentOf('openai').inSession, agentOf('openai').converse]) {
    const { value, report } = await replayFunction(fn, { executionLog: log });
    expect(value).toBe(printed);
    expect(report.faithful).toBe(true);
    expect(report.logs).toMatchObject([{ sessionId: 'customer-7', outcome: 'resolved', turns: { length: 4 } }]);
  }
});

test('a function that begins the session after reads of its own says so', async () => {
  const { log, printed } = await recorded('openai', { how: 'inSession' });
  const fn = (): Promise<string> => {
    Date.now();
    return agentOf('openai').inSession();
  };
  const { value, report } = await replayFunction(fn, { executionLog: log, beginsSession: true });
  expect(value).toBe(printed);
  expect(report.faithful).toBe(true);
});

test('all other code keeps the real network, clock, timers and randomness', async () => {
  const { log } = await recorded();
  const before = world.served;
  const started = Date.now();
  const replay = replayFunction(agentOf('openai').converse, { executionLog: log });
  const outside = (async () => {
    const seen: { body: string; now: number; fired: number }[] = [];
    for (let i = 0; i < 5; i++) {
      const response = await fetch(`${world.base}/outside`);
      const sent = Date.now();
      await new Promise((done) => setTimeout(done, 20));
      seen.push({ body: await response.text(), now: sent, fired: Date.now() - sent });
    }
    return seen;
  })();
  const [{ report }, seen] = await Promise.all([replay, outside]);
  expect(report.faithful).toBe(true);
  expect(world.served - before).toBe(5);
  expect(new Set(seen.map(({ body }) => body)).size).toBe(5);
  for (const { now, fired } of seen) {
    expect(now).toBeGreaterThanOrEqual(started);
    expect(fired).toBeGreaterThanOrEqual(19);
  }
});

test('kept connections of before are not used, and those of the replay by nobody afterwards', async () => {
  const { log, printed } = await recorded();
  const get = (): Promise<void> =>
    new Promise((done, failed) => {
      http.get(`${world.base}/kept`, (response) => response.resume().on('end', done)).on('error', failed);
    });
  await fetch(`${world.base}/kept`).then((response) => response.text());
  await get();
  const before = world.served;
  const { value } = await replayFunction(agentOf('openai').converse, { executionLog: log });
  expect(value).toBe(printed);
  expect(world.served).toBe(before);
  await fetch(`${world.base}/kept`).then((response) => response.text());
  await get();
  expect(world.served).toBe(before + 2);
});

test('replays that are started together run one after another', async () => {
  const { log, printed } = await recorded();
  const results = await Promise.all(
    [1, 2, 3].map(() => replayFunction(agentOf('openai').converse, { executionLog: log })),
  );
  expect(results.map(({ value, report }) => [value, report.faithful])).toEqual(Array(3).fill([printed, true]));
});

test('a replay inside a replay is refused', async () => {
  const { log } = await recorded();
  const { error } = await replayFunction(() => replayFunction(() => 1, { executionLog: log }), { executionLog: log });
  expect(error).toMatchObject({ code: 'USAGE' });
});

test('synchronous cryptography keeps a replay from nothing', async () => {
  const { log, printed } = await recorded();
  const { value } = await replayFunction(
    () => {
      scryptSync('password', 'salt', 8);
      return agentOf('openai').converse();
    },
    { executionLog: log, timeoutMs: 5_000 },
  );
  expect(value).toBe(printed);
});

test('what a replay replaces in the process is put back', async () => {
  const { log } = await recorded();
  const look = () => [
    Date, Date.now, Math.random, setTimeout, setInterval, clearTimeout, fetch, performance, process.hrtime,
    net.Socket.prototype.connect, Reflect.get(http.Agent.prototype, 'addRequest'), http.Agent.prototype.destroy, http.ClientRequest.prototype.end,
    AbortSignal.timeout, Worker, Date.prototype.constructor,
  ]; // prettier-ignore
  const before = look();
  await replayFunction(agentOf('openai').converse, { executionLog: log });
  expect(look().map((value, index) => value === before[index])).toEqual(before.map(() => true));
});

test('variables that the recording had are there for the function only', async () => {
  const { log } = await recorded();
  delete process.env['OPENAI_API_KEY'];
  const { value } = await replayFunction(() => process.env['OPENAI_API_KEY'], { executionLog: log });
  expect(value).toMatch(/placeholder/);
  expect(process.env['OPENAI_API_KEY']).toBeUndefined();
});

test('a call that was not recorded is refused and explained', async () => {
  const { log } = await recorded();
  const before = world.served;
  const other = async (): Promise<unknown> => {
    const blocked = await fetch('http://127.0.0.1:50999/').catch(
      (error: Error) => (error.cause as { code?: string }).code,
    );
    const diverged = await fetch(`${world.base}/never`);
    return [blocked, diverged.status];
  };
  const { value, report } = await replayFunction(other, { executionLog: log });
  expect(value).toEqual(['ECONNREFUSED', 400]);
  expect(report).toMatchObject({ faithful: false, blocked: 1, diverged: 1, unused: 6 });
  expect(world.served).toBe(before);
});

test('processes, workers and files are refused inside only', async () => {
  const { log } = await recorded();
  const inside = (): unknown[] =>
    [
      () => spawn(process.execPath, ['-e', '']),
      () => new Worker('', { eval: true }),
      () => writeFileSync(resolve('/', 'reenact-never-written'), ''),
    ].map((attempt) => {
      try {
        return attempt();
      } catch (error) {
        return (error as { code?: string }).code;
      }
    });
  const replay = replayFunction(inside, { executionLog: log });
  const child = spawn(process.execPath, ['-e', 'process.exit(3)']);
  const exit = new Promise((done) => child.on('exit', done));
  const { value, report } = await replay;
  expect(value).toEqual(['EACCES', 'EACCES', 'EACCES']);
  expect(report.blocked).toBe(3);
  expect(await exit).toBe(3);
});

test.each([
  [
    'ROUTE',
    'sales',
    { rule: 'decision', name: 'decision route', path: '/data/to', expected: 'billing', actual: 'sales' },
  ],
  ['OUTCOME', 'escalated', { rule: 'outcome', path: '/outcome', expected: 'resolved', actual: 'escalated' }],
])('a replay with another %s than the recorded one is not faithful', async (name, value, difference) => {
  const { log } = await recorded();
  process.env[name] = value;
  try {
    const { report } = await replayFunction(agentOf('openai').converse, { executionLog: log });
    expect(report).toMatchObject({ faithful: false, exact: 6, diverged: 0, divergences: [difference] });
  } finally {
    delete process.env[name];
  }
});

test('a function that throws gives its error', async () => {
  const { log } = await recorded();
  const boom = new Error('boom');
  const { error, report } = await replayFunction(() => Promise.reject(boom), { executionLog: log });
  expect(error).toBe(boom);
  expect(report).toMatchObject({ faithful: false, program: { exitCode: 1 } });
});

test('a function that never ends is given up, and the next replay begins', async () => {
  const { log, printed } = await recorded();
  const stuck = replayFunction(() => new Promise(() => undefined), { executionLog: log, timeoutMs: 200 });
  const next = replayFunction(agentOf('openai').converse, { executionLog: log });
  await expect(stuck).rejects.toMatchObject({ code: 'REPLAY_STUCK' });
  expect((await next).value).toBe(printed);
});

test('what a function sets off and does not wait for is part of its replay', async () => {
  const { log } = await recorded();
  const before = world.served;
  const { value, report } = await replayFunction(
    () => {
      void agentOf('openai').converse();
      return 'at once';
    },
    { executionLog: log },
  );
  expect(value).toBe('at once');
  expect(report).toMatchObject({ faithful: true, exact: 6 });
  expect(world.served).toBe(before);
});

test('an override changes what follows, and assertions judge it', async () => {
  const { log } = await recorded();
  const run = {
    agent: agentOf('openai').converse,
    executionLog: log,
    toolOverrides: { get_order: { status: 'lost' } },
    onDivergence: 'recorded',
  } as const;
  const found = await runWithReplay({ ...run, assertions: ['calls:get_order<price_of', 'outcome:resolved'] });
  expect(found).toMatchObject({ passed: true, report: { overridden: 1, relaxed: 1, diverged: 0 } });
  expect(JSON.stringify(found.report.logs[0]?.turns.at(-1)?.request)).toContain('lost');
  const missed = await runWithReplay({ ...run, agent: { function: run.agent }, assertion: 'never:get_order' });
  expect(missed.passed).toBe(false);
});

test('fake timers of a test do not reach into the replay', async () => {
  const { log, printed } = await recorded();
  jest.useFakeTimers();
  try {
    const { value, report } = await replayFunction(agentOf('openai').converse, { executionLog: log });
    expect(value).toBe(printed);
    expect(report.faithful).toBe(true);
  } finally {
    jest.useRealTimers();
  }
});

test('a log that holds calls of declared tools is refused, since jest loads modules past our hooks', async () => {
  const { log } = await recorded();
  const config = join(world.folder, 'declares.json');
  writeFileSync(
    config,
    JSON.stringify({ tools: [{ module: './tools.js', exports: ['getOrder'], names: { getOrder: 'get_order' } }] }),
  );
  process.env['REENACT_CONFIG'] = config;
  try {
    await expect(replayFunction(agentOf('openai').converse, { executionLog: log })).rejects.toMatchObject({
      code: 'DECLARED_NOT_REACHED',
    });
    expect(ran).toEqual([]);
  } finally {
    delete process.env['REENACT_CONFIG'];
  }
});
