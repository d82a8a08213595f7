import { ProviderStub } from '../../third-party/provider-stub';
import { InstalledPrograms } from '../installed-programs';

/** Everything of `performance` that reads the clock, by the shape of what it gives. */
const SHAPES = `
const tell = (make) => {
  try {
    const entry = make();
    console.log(entry.name, entry.entryType, entry.detail, entry.constructor.name, Object.keys(entry.toJSON()).join());
  } catch (error) {
    console.log(error.name, error.code, error.message);
  }
};
performance.mark('s', { startTime: 5 });
for (const args of [[], ['a'], ['a', null], ['a', 5], ['a', { startTime: -1 }], ['a', { detail: { x: 1 } }], ['timeOrigin']])
  tell(() => performance.mark(...args));
for (const args of [[], ['m'], ['m', 's'], ['m', 'none'], ['m', 's', 'a'], ['m', undefined, 'a'], ['m', {}], ['m', null], ['m', 7],
  ['m', { start: 's', duration: 5 }], ['m', { duration: 5 }], ['m', { start: 1, end: 4, duration: 5 }], ['m', { detail: 1 }]])
  tell(() => performance.measure(...args));
console.log(Object.keys(performance), performance.mark.length, performance.measure.length, Object.keys(performance.toJSON()));
`;
const TIMES = `
import OpenAI from 'openai';
import { performance as exported } from 'node:perf_hooks';
const client = new OpenAI({ apiKey: 'k', baseURL: process.env.BASE + '/v1' });
performance.mark('begin');
console.time('call');
await client.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'x' }] });
console.timeEnd('call');
console.log(process.hrtime(), process.hrtime.bigint(), process.uptime(), performance.timeOrigin);
console.log(performance.measure('m', 'begin').duration, performance.measure('whole').duration, exported.mark('end').startTime);
`;

describe('performance and hrtime', () => {
  const installed = new InstalledPrograms({ 'shapes.cjs': SHAPES, 'times.mjs': TIMES });
  let stub: ProviderStub;
  beforeAll(async () => {
    stub = await ProviderStub.listen();
  });
  afterAll(async () => {
    await stub.close();
    installed.remove();
  });

  it('answer a recorded program as they answer without recording', async () => {
    const plain = await installed.run(['shapes.cjs']);
    expect((await installed.preloaded(['shapes.cjs'])).stdout).toBe(plain.stdout);
  });

  it('give a replayed program the recorded times', async () => {
    const recorded = await installed.record(['times.mjs'], { env: { BASE: stub.origin } });
    const replayed = await installed.replay([], { env: { BASE: stub.origin } });
    expect(replayed.stdout).toBe(recorded.stdout);
    expect(replayed.document.faithful).toBe(true);
  });
});
