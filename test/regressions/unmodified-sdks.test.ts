import type { ExecutionLog } from '../../instrumentation/schema/execution-log';
import { InstalledPrograms } from '../e2e/installed-programs';
import { startProvider } from './provider';

interface Case {
  readonly code: string;
  /** Model turns of the session. */
  readonly turns: number;
}

/** Right behaviours that public bug reports of other tools ask for, each run on the real SDKs. */
const cases: Record<string, Case> = {
  // open-telemetry/opentelemetry-js-contrib#3586, newrelic/node-newrelic#3379
  'parse() of a structured answer works, and is one call': {
    code: `const r = await openai.chat.completions.parse({ model: 'm', messages, response_format: { type: 'json_schema', json_schema: { name: 'x', schema: {} } } }); say(r.choices[0].message.parsed)`,
    turns: 1,
  },
  // DataDog/dd-trace-js#10072, newrelic/node-newrelic#3379
  'responses.parse() works': {
    code: `const r = await openai.responses.parse({ model: 'm', input: 'q', text: { format: { type: 'json_schema', name: 'x', schema: {} } } }); say(r.output_parsed, r.output_text)`,
    turns: 1,
  },
  // open-telemetry/opentelemetry-js-contrib#3286, getsentry/sentry-javascript#19073
  'a stream with its response can be had': {
    code: `const p = openai.chat.completions.create({ model: 'm', messages, stream: true }); say(p.constructor.name, typeof p.withResponse);
      const { data, response, request_id } = await p.withResponse(); let n = 0; for await (const c of data) n++; say(response.status, request_id, n)`,
    turns: 1,
  },
  // mswjs/interceptors#138
  'the raw response can be had, and read by the program first': {
    code: `const r = await openai.chat.completions.create({ model: 'm', messages }).asResponse(); say(r.bodyUsed, (await r.json()).id, r.bodyUsed)`,
    turns: 1,
  },
  // getsentry/sentry-javascript#17159, braintrustdata/braintrust-sdk-javascript#1693
  'subclasses and private fields of clients work': {
    code: `class Mine extends OpenAI { #secret = 5; get secret() { return this.#secret } } const c = new Mine(options); const copy = c.withOptions({ maxRetries: 0 });
      say(c.secret, copy instanceof OpenAI, (await copy.chat.completions.create({ model: 'm', messages })).id)`,
    turns: 1,
  },
  // langfuse/langfuse#7789
  'calls that are no model calls are left as they are': {
    code: `const page = await openai.models.list(); say(page.data, page.constructor.name); for await (const m of openai.models.list()) say(m.id)`,
    turns: 0,
  },
  // langfuse/langfuse-js#180
  'parameters that nobody knows break nothing': {
    code: `say((await openai.chat.completions.create({ model: 'm', messages, response_format: { type: 'later' }, new_thing: [{ deep: null }], n: 'x' })).id)`,
    turns: 1,
  },
  // PostHog/posthog-js#4074
  'an error in the middle of a stream is seen once, by the program': {
    code: `let n = 0; try { for await (const c of await openai.chat.completions.create({ model: 'breaks', messages, stream: true })) n++ } catch (e) { say(n, e.constructor.name, e.message) }
      await anthropic.messages.stream({ model: 'breaks', max_tokens: 1, messages }).finalMessage().catch((e) => say(e.constructor.name))`,
    turns: 2,
  },
  // getsentry/sentry-javascript#24532, vercel/ai#8676
  'an abort with any reason rejects nothing that nobody handles': {
    code: `const c = new AbortController(); const s = await openai.chat.completions.create({ model: 'm', messages, stream: true }, { signal: c.signal });
      try { for await (const x of s) c.abort(undefined) } catch (e) { say(e.constructor.name) } await new Promise((r) => setTimeout(r, 20)); say(c.signal.aborted)`,
    turns: 1,
  },
  // traceloop/openllmetry#3395
  'a stream of responses is a call': {
    code: `for await (const e of await openai.responses.create({ model: 'm', input: 'q', stream: true })) say(e.type)`,
    turns: 1,
  },
  // traceloop/openllmetry-js#43
  'a stream can be returned through a tool': {
    code: `const ask = tool('ask', () => openai.chat.completions.create({ model: 'm', messages, stream: true }), { replay: 'run' });
      const p = ask(); say(p.constructor.name); let n = 0; for await (const c of await p) n++; say(n)`,
    turns: 1,
  },
  // braintrustdata/braintrust-sdk-javascript#1592
  'the helper of message streams works': {
    code: `const seen = []; const s = anthropic.messages.stream({ model: 'm', max_tokens: 1, messages }); s.on('streamEvent', (e) => seen.push(e.type)); s.on('text', (t) => seen.push(t)); const m = await s.finalMessage(); say(seen, m.content, s.request_id)`,
    turns: 1,
  },
  // mswjs/interceptors#799
  'a retry after 429 ends well': {
    code: `say((await openai.chat.completions.create({ model: 'flaky', messages })).id)`,
    turns: 1,
  },
  // nock/nock#2807, Netflix/pollyjs#278
  'compressed bytes of a picture come through': {
    code: `const r = await fetch(process.env.BASE + '/gif'); say(r.headers.get('content-encoding'), Buffer.from(await r.arrayBuffer()).toString('base64'))`,
    turns: 0,
  },
  // vercel/workflow#3070
  'a race of two calls has the recorded winner, whatever their order': {
    code: `const slow = async () => { const s = await openai.chat.completions.create({ model: 'm', messages, stream: true }); for await (const c of s); return 'stream' };
      const fast = async () => { await openai.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'fast' }] }); return 'fast' };
      const before = Date.now(); say(await Promise.race([slow(), fast()]), await Promise.race([fast(), slow()])); await Promise.all([slow(), fast()]); times.push(Date.now() - before)`,
    turns: 6,
  },
  // dbos-inc/dbos-transact-py#688, aws/aws-durable-execution-sdk-js#177
  'parallel tools of different names settle as they did, rejections included': {
    code: `const wait = (ms) => new Promise((r) => setTimeout(r, ms)); const order = [];
      const tools = ['a', 'b', 'c'].map((name, i) => tool(name, async () => { await wait(30 - 10 * i); order.push(name); if (name === 'b') throw new Error('b fails'); return name }));
      const settled = await Promise.allSettled(tools.map((t) => t().finally(() => order.push('done')))); say(settled.map((s) => s.value ?? s.reason.message))`,
    turns: 0,
  },
};

const FILE = `
import OpenAI from 'openai'; import Anthropic from '@anthropic-ai/sdk'; import { session, tool } from 'reenact';
const options = { apiKey: 'k', baseURL: process.env.BASE + '/v1', maxRetries: 2 };
const openai = new OpenAI(options), anthropic = new Anthropic({ apiKey: 'k', baseURL: process.env.BASE });
const messages = [{ role: 'user', content: 'q' }], all = {}, times = [];
const begin = (name) => (...values) => (all[name] ??= []).push(JSON.stringify(values));
process.on('unhandledRejection', (e) => begin('unhandled')(String(e)));
process.on('exit', () => process.stdout.write(JSON.stringify(all)));
${Object.entries(cases)
  .map(
    ([name, { code }], i) =>
      `await session({ id: 'case-${i}' }, async () => { const say = begin(${JSON.stringify(name)});\n${code} });`,
  )
  .join('\n')}
`;

describe('an unmodified program', () => {
  const programs = new InstalledPrograms({ 'app.mjs': FILE });
  const names = Object.keys(cases);
  let [plain, recorded, replayed]: Record<string, string[]>[] = [{}, {}, {}];
  let logs: ExecutionLog[] = [];
  let faithful: unknown;

  beforeAll(async () => {
    const provider = await startProvider();
    const env = { BASE: provider.origin };
    const read = ({ stdout, stderr }: { stdout: string; stderr: string }): Record<string, string[]> => {
      if (stdout === '') throw new Error(stderr);
      return JSON.parse(stdout) as Record<string, string[]>;
    };
    plain = read(await programs.run(['app.mjs'], { env }));
    recorded = read(await programs.record(['app.mjs'], { env }));
    provider.close();
    logs = await programs.logs();
    const replay = await programs.replay([], { env });
    replayed = read(replay);
    const { exact, total, live, unused, diverged, blocked } = replay.document;
    faithful = { all: exact === total, live, unused, diverged, blocked, faithful: replay.document.faithful };
  }, 120_000);
  afterAll(() => programs.remove());

  test.each(names)('%s', (name) => {
    expect(plain?.[name]?.length).toBeGreaterThan(0);
    expect(recorded?.[name]).toEqual(plain?.[name]);
    expect(replayed?.[name]).toEqual(recorded?.[name]);
    const log = logs.find(({ sessionId }) => sessionId === `case-${names.indexOf(name)}`);
    const turns = log?.turns.filter(({ type }) => type === 'llm_call') ?? [];
    expect(turns).toHaveLength(cases[name]?.turns ?? -1);
  });

  it('leaves no rejection unhandled', () => {
    expect([plain, recorded, replayed].map((lines) => lines?.['unhandled'])).toEqual([undefined, undefined, undefined]);
  });

  it('is replayed with every call answered exactly and none live', () => {
    expect(faithful).toEqual({ all: true, live: 0, unused: 0, diverged: 0, blocked: 0, faithful: true });
  });

  // Arize-ai/openinference#3664
  it('shows the attempts of a retried call under one turn', () => {
    const at = names.indexOf('a retry after 429 ends well');
    const [turn] = logs.find(({ sessionId }) => sessionId === `case-${at}`)?.turns ?? [];
    expect(turn?.spanIds).toHaveLength(2);
  });

  // traceloop/openllmetry-js#352, mergewatch#491
  it('keeps usage and finish reason of a stream as the provider sent them', () => {
    const at = names.indexOf('a stream with its response can be had');
    const [turn] = logs.find(({ sessionId }) => sessionId === `case-${at}`)?.turns ?? [];
    expect(turn?.response).toMatchObject({ usage: { total_tokens: 5 }, choices: [{ finish_reason: 'stop', message: { content: 'one two' } }] }); // prettier-ignore
  });

  // open-telemetry/opentelemetry-go-compile-instrumentation#979, vercel/ai#15651
  it('does not take an aborted stream for a complete one', () => {
    const at = names.indexOf('an abort with any reason rejects nothing that nobody handles');
    const [turn] = logs.find(({ sessionId }) => sessionId === `case-${at}`)?.turns ?? [];
    expect(turn?.outcome).toBe('aborted');
  });
});
