import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { ProviderStub } from '../third-party/provider-stub';
import { InstalledPrograms } from './installed-programs';

const OPENAI = `
import OpenAI from 'openai';
const client = new OpenAI({ apiKey: 'k', baseURL: process.env.BASE + '/v1', maxRetries: 2 });
const ask = (content, model = 'm', more = {}) => client.chat.completions.create({ model, messages: [{ role: 'user', content }], ...more });
`;
const ANTHROPIC = `
import Anthropic from '@anthropic-ai/sdk';
const client = new Anthropic({ apiKey: 'k', baseURL: process.env.BASE, maxRetries: 2 });
const ask = (content, model = 'm', more = {}) => client.messages.create({ model, max_tokens: 9, messages: [{ role: 'user', content }], ...more });
`;
const SAY = `const say = (...values) => console.log(JSON.stringify(values));\n`;

/** What a program prints must be the same unrecorded, recorded, and replayed with the provider gone. */
const programs: Record<string, { code: string; calls: number; exit?: number; varies?: boolean }> = {
  'openai, answer': { code: `${OPENAI} say(await ask('now ' + new Date(0).toISOString()))`, calls: 1 },
  'openai, stream': { code: `${OPENAI} for await (const c of await ask('x', 'm', { stream: true })) say(c)`, calls: 1 },
  'anthropic, answer': { code: `${ANTHROPIC} say(await ask('x'))`, calls: 1 },
  'anthropic, stream': {
    code: `${ANTHROPIC} for await (const e of await ask('x', 'm', { stream: true })) say(e)`,
    calls: 1,
  },
  'a retry that fails each time': {
    code: `${OPENAI} await ask('x', 'busy').catch((e) => say(e.constructor.name, e.status, e.message))`,
    calls: 3,
  },
  'a stream that is cut': {
    code: `${OPENAI} try { for await (const c of await ask('x', 'dropped', { stream: true })) say(c) } catch (e) { say(e.constructor.name) }`,
    calls: 1,
  },
  'a stream that the program aborts': {
    code: `${OPENAI} const stream = await ask('x', 'endless', { stream: true }); let n = 0;
      for await (const c of stream) { say(c); if (++n === 2) stream.controller.abort() }`,
    calls: 1,
    // How many chunks come in one read differs from run to run; a replay repeats that of the recording.
    varies: true,
  },
  'a call that a time-out gives up': {
    code: `${ANTHROPIC} const stream = client.messages.stream({ model: 'endless', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] }, { signal: AbortSignal.timeout(200) });
      await stream.finalMessage().catch((e) => say(e.constructor.name))`,
    calls: 1,
  },
  '32 sessions at a time': {
    code: `${OPENAI} import { session } from 'reenact';
      say(await Promise.all(Array.from({ length: 32 }, (_, i) => session({ id: 's' + i }, async () => (await ask('same')).choices[0].message.content + (await ask('own ' + i)).id))))`,
    calls: 64,
  },
  'tools: asynchronous, synchronous, throwing': {
    code: `import { tool, observe, decision, outcome, markFailure } from 'reenact';
      const ok = tool('ok', async (a) => ({ got: a, at: new Date(5), map: new Map([[1, 2n]]) })), sync = tool('sync', (a, b) => a + b);
      const fails = tool('fails', async () => { throw Object.assign(new TypeError('no'), { code: 'E_NO' }) }), failsSync = tool('failsSync', () => { throw new RangeError('now') });
      const { inspect } = await import('node:util');
      say(inspect(await ok({ x: 1 })), sync(1, 2)); await fails().catch((e) => say(e.name, e.message, e.code, e instanceof TypeError)); try { failsSync() } catch (e) { say(e.name, e.message) }
      say(await observe('row/7', async () => ({ stock: 3 })), observe('now', () => 4));
      decision('route', { to: 'billing' }); outcome('escalated', { score: 5 }); markFailure('wrong')`,
    calls: 6,
  },
  'the end by process.exit': {
    code: `${OPENAI} await ask('x'); process.exitCode = 1; process.exit(7)`,
    calls: 1,
    exit: 7,
  },
  'random values and the clock in requests': {
    code: `${OPENAI} import { randomUUID, randomInt } from 'node:crypto'; import { setTimeout as sleep } from 'node:timers/promises';
      const tag = [randomUUID(), randomInt(1000), Math.random(), Date.now(), performance.now(), process.hrtime.bigint() > 0n].slice(0, 5).join(); await sleep(20); say((await ask(tag)).id)`,
    calls: 1,
  },
};

describe('a program on the real SDKs', () => {
  let stub: ProviderStub;
  const installed = new InstalledPrograms();
  beforeAll(async () => {
    stub = await ProviderStub.listen();
  });
  afterAll(async () => {
    await stub.close();
    installed.remove();
  });

  test.each(Object.entries(programs))(
    '%s: recorded, then replayed without any provider',
    async (_name, { code, calls, exit = 0, varies = false }) => {
      installed.write({ 'app.mjs': SAY + code });
      const env = { BASE: stub.origin };
      const plain = await installed.run(['app.mjs'], { env });
      expect(plain).toMatchObject({ stderr: '', code: exit });
      const recorded = await installed.record(['app.mjs'], { env });
      const stdout = varies ? recorded.stdout : plain.stdout;
      expect(recorded).toMatchObject({ stdout, stderr: '', code: exit });
      const seen = stub.seen.length;
      const replayed = await installed.replay([], { env });
      expect(replayed.document).toMatchObject({
        total: calls,
        exact: calls,
        live: 0,
        unused: 0,
        diverged: 0,
        faithful: true,
      });
      expect(replayed).toMatchObject({ stdout, code: 0 });
      expect(replayed.document.program).toMatchObject({ exitCode: exit, recordedExitCode: exit, stdoutEqual: true });
      expect(stub.seen).toHaveLength(seen);
    },
  );

  it('keeps each of 32 parallel sessions in a log of its own', async () => {
    installed.write({ 'app.mjs': SAY + (programs['32 sessions at a time']?.code ?? '') });
    await installed.record(['app.mjs'], { env: { BASE: stub.origin } });
    const logs = await installed.logs();
    expect(logs.map(({ sessionId }) => sessionId).sort()).toEqual(Array.from({ length: 32 }, (_, i) => `s${i}`).sort());
    for (const { sessionId, turns } of logs) {
      expect(turns).toHaveLength(2);
      expect(turns[1]?.request['messages']).toEqual([{ role: 'user', content: `own ${sessionId.slice(1)}` }]);
    }
  });

  it('states outcome, failure and metadata in the log', async () => {
    installed.write({ 'app.mjs': SAY + (programs['tools: asynchronous, synchronous, throwing']?.code ?? '') });
    await installed.record(['app.mjs']);
    const [log] = await installed.logs();
    expect(log).toMatchObject({ outcome: 'escalated' });
    expect(JSON.stringify(log)).toContain('wrong');
    expect(log?.turns.map(({ request }) => request['name'])).toEqual(['ok', 'sync', 'fails', 'failsSync']);
    expect(log?.turns[2]?.response).toEqual({ error: { name: 'TypeError', message: 'no', code: 'E_NO' } });
  });

  it('runs in a replay without the variables that its clients ask for', async () => {
    const code = `import OpenAI from 'openai'; const c = new OpenAI({ baseURL: process.env.BASE + '/v1' });
      say((await c.chat.completions.create({ model: 'm', messages: [] })).id)`;
    installed.write({ 'app.mjs': SAY + code });
    const given = { BASE: stub.origin, OPENAI_API_KEY: 'sk-secret-1234567890' };
    expect(
      (
        await installed.record(['app.mjs'], {
          env: { ...given, BASE: undefined, OPENAI_BASE_URL: stub.origin + '/v1' },
        })
      ).code,
    ).toBe(1);
    const recorded = await installed.record(['app.mjs'], { env: given });
    expect(recorded.code).toBe(0);
    const replayed = await installed.replay([], { env: { BASE: stub.origin } });
    expect(replayed.document).toMatchObject({ exact: 1, faithful: true });
    expect(JSON.stringify(await installed.logs())).not.toContain('sk-secret');
  });

  it.each([
    ['an uncaught error', `throw new Error('end')`, 1, null],
    ['SIGTERM without a handler', `console.log('ready'); setInterval(() => {}, 1000)`, null, 'SIGTERM'],
  ])('loses no finished call at %s', async (_name, end, code, signal) => {
    installed.write({ 'app.mjs': `${OPENAI} await ask('last words'); ${end}` });
    const ended = await installed.preloaded(['app.mjs'], { env: { BASE: stub.origin }, onOutput: (child) => child.kill('SIGTERM') }); // prettier-ignore
    expect(ended).toMatchObject({ code, signal });
    const logs = await installed.logs();
    expect(JSON.stringify(logs[0]?.turns[0]?.request)).toContain('last words');
  });

  it('records nothing with REENACT_RECORD=off, nor excluded hosts and routes', async () => {
    installed.write({ 'app.mjs': `await fetch(process.env.BASE + '/health'); await fetch(process.env.BASE + '/v1/x', { method: 'POST', body: '{}' })` }); // prettier-ignore
    const env = { BASE: stub.origin };
    const runs = async (more: Record<string, string>): Promise<unknown[]> => {
      const ended = await installed.preloaded(['app.mjs'], { env: { ...env, REENACT_DIR: `store-${JSON.stringify(more).length}`, ...more } }); // prettier-ignore
      expect(ended).toMatchObject({ code: 0, stderr: '' });
      const listed = await installed.reenact(['list', '--json'], { env: { REENACT_DIR: `store-${JSON.stringify(more).length}` } }); // prettier-ignore
      return JSON.parse(listed.stdout) as unknown[];
    };
    expect(await runs({})).toHaveLength(1);
    expect(await runs({ REENACT_RECORD: 'off' })).toEqual([]);
    installed.write({ 'exclude.json': JSON.stringify({ exclude: { hosts: ['127.*'] } }) });
    expect(await runs({ REENACT_CONFIG: 'exclude.json' })).toEqual([]);
    installed.write({ 'routes.json': JSON.stringify({ exclude: { routes: ['/health', '/v1/*'] } }) });
    expect(await runs({ REENACT_CONFIG: './routes.json' })).toEqual([]);
  });

  it('draws the same Math.random sequence under --random-seed with and without the preload', async () => {
    installed.write({ 'app.cjs': `console.log([1, 2, 3].map(() => Math.random()).join())` });
    const plain = await installed.run(['--random-seed=42', 'app.cjs']);
    const recorded = await installed.preloaded(['--random-seed=42', 'app.cjs']);
    expect(recorded.stdout).toBe(plain.stdout);
  });

  it('passes everything through without the preload', async () => {
    installed.write({
      'app.mjs': `import { session, tool, tools, observe, decision, outcome, markFailure } from 'reenact'; import { existsSync } from 'node:fs';
        const f = (a) => a; decision('d'); outcome('resolved'); markFailure('x');
        console.log(session({ id: 's' }, () => 1), tool('f', f)(2), tools({ f }).f(3), observe('k', () => 4), tool('f', f).name, existsSync('nowhere/.reenact'))`,
    });
    expect(await installed.run(['app.mjs'])).toMatchObject({ stdout: '1 2 3 4 f false\n', stderr: '', code: 0 });
  });

  it('behaves the same when the store cannot be written', async () => {
    installed.write({ 'app.mjs': `${SAY}${OPENAI} say(await ask('x'))`, blocked: 'a file where the store should be' });
    const env = { BASE: stub.origin };
    const plain = await installed.run(['app.mjs'], { env });
    const recorded = await installed.preloaded(['app.mjs'], { env: { ...env, REENACT_DIR: 'blocked/store' } });
    expect(recorded).toMatchObject({ stdout: plain.stdout, code: 0 });
    expect(recorded.stderr.split('\n').length).toBeLessThanOrEqual(2);
  });

  it('ends at most a second later when the endpoint hangs, also with a backlog to send', async () => {
    const silent = createServer(() => undefined);
    await new Promise<void>((done) => silent.listen(0, '127.0.0.1', done));
    installed.write({ 'app.mjs': `${OPENAI} await ask('x'); let end; process.prependOnceListener('beforeExit', () => (end = performance.now())); process.on('exit', () => console.log(performance.now() - end))` }); // prettier-ignore
    const endpoint = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const delays: number[] = [];
    // The first run leaves the backlog. Of the others the least counts: other work on the machine can only add to it.
    for (let i = 0; i < 4; i++) {
      const env = { BASE: stub.origin, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint };
      const ended = await installed.preloaded(['app.mjs'], { env });
      expect(ended).toMatchObject({ code: 0 });
      delays.push(Number(ended.stdout));
    }
    silent.close();
    // The deadline is 0.9 s; without it the end would come after the 10 s of the exporter. Between is the machine.
    expect(Math.min(...delays.slice(1))).toBeLessThan(3_000);
  });
});
