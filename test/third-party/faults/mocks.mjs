// Programs that bring mocks and fake clocks of their own. MOCKS is replaced by the folder they are installed in.
const REQUIRE = `import { createRequire } from 'node:module';
const require = createRequire('MOCKS/package.json');
const ask = async (url, body = 'hi') => (await fetch(url, { method: 'POST', body })).text();
`;

export function mockCases() {
  return [
    {
      name: 'nock answers some calls',
      program: `${REQUIRE}
const nock = require('nock');
nock('http://mocked.example').post('/a').times(2).reply(200, { mocked: true });
console.log(await ask('http://mocked.example/a'), await ask(process.env.BASE + '/real'));
nock.restore();
console.log(await ask(process.env.BASE + '/after'));
`,
    },
    {
      name: 'msw answers some calls',
      program: `${REQUIRE}
const { setupServer } = require('msw/node');
const { http, HttpResponse } = require('msw');
const server = setupServer(http.post('http://mocked.example/a', () => HttpResponse.json({ mocked: true })));
server.listen({ onUnhandledRequest: 'bypass' });
console.log(await ask('http://mocked.example/a'), await ask(process.env.BASE + '/real'));
server.close();
console.log(await ask(process.env.BASE + '/after'));
`,
    },
    {
      name: 'sinon fakes the clock',
      program: `${REQUIRE}
const sinon = require('sinon');
const clock = sinon.useFakeTimers({ now: 1_700_000_000_000, toFake: ['setTimeout', 'clearTimeout', 'Date'] });
const order = [];
setTimeout(() => order.push('late ' + Date.now()), 60_000);
console.log(await ask(process.env.BASE + '/one'), Date.now());
await clock.tickAsync(60_001);
console.log(order, new Date().toISOString());
clock.restore();
console.log(await ask(process.env.BASE + '/two'), Date.now() > 1_700_000_000_000);
`,
    },
    {
      name: 'jest fakes the clock',
      program: `${REQUIRE}
const { ModernFakeTimers } = require('@jest/fake-timers');
const timers = new ModernFakeTimers({ config: { rootDir: '/', fakeTimers: {} }, global: globalThis });
timers.useFakeTimers({ now: 1_700_000_000_000, doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance'] });
let fired = 0;
setInterval(() => (fired += 1), 1000);
console.log(await ask(process.env.BASE + '/one'), Date.now());
timers.advanceTimersByTime(5000);
console.log(fired, Date.now());
timers.useRealTimers();
console.log(await ask(process.env.BASE + '/two'));
`,
    },
    {
      name: 'undici agents of the program, set late',
      known: 'what a MockAgent of undici answers is recorded, and counts as unused in the replay',
      program: `${REQUIRE}
const { Agent, MockAgent, setGlobalDispatcher, fetch: own } = require('undici');
console.log(await ask(process.env.BASE + '/one'));
setGlobalDispatcher(new Agent({ keepAliveTimeout: 10 }));
console.log(await ask(process.env.BASE + '/two'), await (await own(process.env.BASE + '/three')).text());
const mock = new MockAgent(); mock.enableNetConnect();
mock.get('http://mocked.example').intercept({ path: '/a', method: 'POST' }).reply(200, 'mocked');
setGlobalDispatcher(mock);
console.log(await (await own('http://mocked.example/a', { method: 'POST' })).text(), await (await own(process.env.BASE + '/four')).text());
`,
    },
  ];
}
