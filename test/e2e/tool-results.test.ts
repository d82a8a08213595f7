import { ProviderStub } from '../third-party/provider-stub';
import { InstalledPrograms } from './installed-programs';

const HEAD = `
import { tool } from 'reenact';
const ask = async (path = '') => (await fetch(process.env.BASE + '/v1/models' + path)).status;
`;

/** What a tool can give back or do besides returning a value: the program prints the same each time. */
const programs: Record<string, { code: string; calls: number; exit?: number }> = {
  'a generator': {
    code: `const count = tool('count', function* (n) { for (let i = 0; i < n; i++) { const said = yield i; if (said) yield said } return 'end' });
      console.log([...count(3)]); for (const x of count(9)) if (x === 2) break;
      const steps = count(2); console.log(steps.next(), steps.next('said').value, steps.next(), String(steps)); await ask()`,
    calls: 4,
  },
  'an asynchronous generator that makes calls of its own': {
    code: `const read = tool('read', async function* () { yield await ask('/a'); yield Date.now(); await new Promise((done) => setTimeout(done, 5)); yield Math.random() });
      for await (const x of read()) console.log(x, Date.now()); await ask()`,
    calls: 2,
  },
  'a generator that fails': {
    code: `const fails = tool('fails', async function* () { yield 1; throw new RangeError('half way') });
      try { for await (const x of fails()) console.log(x) } catch (error) { console.log(error.name, error.message) } await ask()`,
    calls: 2,
  },
  'the end of the process': {
    code: `const leave = tool('leave', async () => { await ask('/inside'); process.exit(5) }); await ask(); await leave()`,
    calls: 2,
    exit: 5,
  },
  'the end of the process at once': {
    code: `const leave = tool('leave', () => process.exit(6)); await ask(); try { leave() } finally { console.log('never') }`,
    calls: 2,
    exit: 6,
  },
  'no answer before the process ends': {
    code: `const slow = tool('slow', () => new Promise((done) => setTimeout(done, 60_000))); slow(); await ask(); process.exit(2)`,
    calls: 2,
    exit: 2,
  },
};

describe('a tool that gives back', () => {
  const installed = new InstalledPrograms();
  let stub: ProviderStub;
  beforeAll(async () => {
    stub = await ProviderStub.listen();
  });
  afterAll(async () => {
    await stub.close();
    installed.remove();
  });

  it.each(Object.entries(programs))('%s is recorded and replayed', async (_, { code, calls, exit = 0 }) => {
    installed.write({ 'agent.mjs': HEAD + code });
    const env = { BASE: stub.origin };
    const recorded = await installed.record(['agent.mjs'], { env });
    const replayed = await installed.replay([], { env });
    expect(recorded.code).toBe(exit);
    expect(replayed.stdout).toBe(recorded.stdout);
    expect(replayed.document).toMatchObject({ total: calls, exact: calls, faithful: true, gaps: 0 });
  });

  it('a query that runs when it is awaited runs once', async () => {
    installed.write({
      'agent.mjs': `${HEAD} let runs = 0;
        class Query { then(resolve, reject) { runs += 1; return Promise.resolve([{ id: 7 }]).then(resolve, reject) } }
        const find = tool('find', () => new Query()); console.log(await find(), runs, find() instanceof Query, runs); await ask()`,
    });
    const recorded = await installed.record(['agent.mjs'], { env: { BASE: stub.origin } });
    expect(recorded.stdout).toBe('[ { id: 7 } ] 1 true 1\n');
  });

  it('what cannot be carried is a named gap', async () => {
    installed.write({
      'agent.mjs': `${HEAD} await tool('open', async () => ({ id: 1, stream: new ReadableStream() }))(); await ask()`,
    });
    await installed.record(['agent.mjs'], { env: { BASE: stub.origin } });
    const [log] = await installed.logs();
    expect(log?.gaps).toMatchObject([
      { code: 'VALUE_LOST', message: 'execute_tool open: not carried: /stream: ReadableStream' },
    ]);
    expect((await installed.replay([], { env: { BASE: stub.origin } })).document).toMatchObject({ exact: 2, gaps: 1 });
  });

  it('an object that throws when it is read leaves the program as it was', async () => {
    installed.write({
      'agent.mjs': `${HEAD} const trap = new Proxy({}, { get() { throw new Error('read') } });
        console.log(typeof tool('trap', () => trap)(), tool('given', (x) => typeof x)(trap)); await ask()`,
    });
    const recorded = await installed.record(['agent.mjs'], { env: { BASE: stub.origin } });
    expect([recorded.stdout, recorded.stderr, recorded.code]).toEqual(['object object\n', '', 0]);
  });

  it('a program that throws what cannot be read sees it thrown, and its calls are recorded', async () => {
    installed.write({
      'agent.mjs': `${HEAD.replace('{ tool }', '{ session, tool }')}
        const refuse = () => { throw { toString() { throw new Error('again') } } };
        const gone = Proxy.revocable({}, {}); gone.revoke();
        const hostile = [
          { toString() { throw new Error('no text') } },
          new Proxy({}, { get: refuse, getPrototypeOf: refuse, ownKeys: refuse, has: refuse }),
          { get then() { return refuse() } },
          gone.proxy,
        ];
        const fail = tool('fail', (index) => { throw hostile[index] });
        const take = tool('take', () => 'taken');
        process.on('unhandledRejection', () => console.log('unhandled'));
        for (const [index, value] of hostile.entries()) {
          try { fail(index) } catch (error) { console.log(index, error === value) }
          try { session({}, () => { throw value }) } catch (error) { console.log(index, error === value) }
          await session({}, () => Promise.reject(value)).catch((error) => console.log(index, error === value));
          console.log(take(value));
        }
        await ask()`,
    });
    const recorded = await installed.record(['agent.mjs'], { env: { BASE: stub.origin } });
    const lines = [0, 1, 2, 3].map((index) => `${`${index} true\n`.repeat(3)}taken\n`);
    expect([recorded.stdout, recorded.stderr, recorded.code]).toEqual([lines.join(''), '', 0]);
    const calls = (await installed.logs()).flatMap((log) => log.turns.map(({ request }) => request['name']));
    expect(calls.filter((name) => name === 'fail' || name === 'take')).toHaveLength(8);
  });
});
