import { execFile } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { writeLogs } from '../../replay/log/log-file';
import { FunctionWorld } from '../replay/drivers/function-world';
import { NODES } from './hook-programs';

const ROOT = resolve(__dirname, '../..');
const exec = promisify(execFile);
const AGENT = JSON.stringify(join(ROOT, 'test/replay/drivers/function-agent.cjs'));

/** A tool that is declared, and a test of node:test that replays the agent with it. */
const TOOLS = `export const getOrder = () => { throw new Error('really ran'); };`;
const NODE_TEST = `
import { test } from 'node:test';
import assert from 'node:assert';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import * as api from 'reenact';
import { replayFunction } from 'reenact/replay';
const require = createRequire(import.meta.url);
const makeAgent = require(${AGENT});
const { default: Client } = await import('openai');
const early = process.env.BEFORE ? await import('./tools.mjs') : undefined;

test('replays beside real code', async () => {
  const replay = replayFunction(async () => {
    const { getOrder } = early ?? (await import('./tools.mjs'));
    const own = { ...api, tool: (name, fn) => (name === 'get_order' ? getOrder : api.tool(name, fn)) };
    return makeAgent(own, { sdk: 'openai', Client, base: process.env.BASE, stream: true }).converse();
  }, { executionLog: 'kept.jsonl' });
  const outside = await fetch(process.env.BASE + '/outside').then((response) => response.text());
  if (process.env.BEFORE) return assert.rejects(replay, { code: 'DECLARED_NOT_REACHED' });
  const { value, report } = await replay;
  assert.equal(value, readFileSync('printed.txt', 'utf8'));
  assert.equal(report.faithful, true);
  assert.match(outside, /^answer/);
});
`;

describe.each(NODES)('node:test on %s', (node) => {
  const world = new FunctionWorld();
  beforeAll(async () => {
    await world.start();
    const file = (name: string, text: string): void => writeFileSync(join(world.folder, name), text);
    mkdirSync(join(world.folder, 'node_modules'));
    symlinkSync(ROOT, join(world.folder, 'node_modules/reenact'));
    symlinkSync(join(ROOT, 'node_modules/openai'), join(world.folder, 'node_modules/openai'));
    file('tools.mjs', TOOLS);
    file('agent.test.mjs', NODE_TEST);
    file(
      'declares.json',
      JSON.stringify({ tools: [{ module: './tools.mjs', exports: ['getOrder'], names: { getOrder: 'get_order' } }] }),
    );
    const { log, printed } = await world.record('openai', { stream: true });
    await writeLogs(join(world.folder, 'kept.jsonl'), [log]);
    file('printed.txt', printed);
  });
  afterAll(() => world.stop());

  const run = (env: Record<string, string>): Promise<{ stdout: string }> =>
    exec(node, ['agent.test.mjs'], {
      cwd: world.folder,
      env: { PATH: process.env['PATH'], BASE: world.base, REENACT_CONFIG: 'declares.json', ...env },
    });

  test('replays a function with declared tools that it loads, beside a real request', async () => {
    const before = world.served;
    await run({});
    expect(world.served).toBe(before + 1);
  });

  test('refuses declared tools that were loaded before', async () => {
    await run({ BEFORE: '1' });
  });
});
