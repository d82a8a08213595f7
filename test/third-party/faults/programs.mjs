// The programs of the fault campaign. 'reenact' is replaced by the address of the package.
import { GARBAGE_PATHS } from './garbage-provider.mjs';

const ASK = `
const ask = async (body = 'hi', path = '/v1/chat') => {
  const answer = await fetch(process.env.BASE + path, { method: 'POST', body });
  return answer.status + ' ' + (await answer.text());
};
process.on('unhandledRejection', (reason) => console.log('UNHANDLED', String(reason)));
`;

const TOOL = `import { tool } from 'reenact';
const attempt = async (name, fn) => {
  try { console.log(name, await fn()); } catch (error) { console.log(name, 'failed', error.name, String(error.message).slice(0, 200)); }
};
`;

const garbage = (paths) => `${ASK}import http from 'node:http';
for (const path of ${JSON.stringify(paths)}) {
  try { console.log('fetch', path, (await ask('hi', path)).slice(0, 100)); }
  catch (error) { console.log('fetch', path, error.name, error.message, error.cause?.code, error.cause?.message); }
  await new Promise((done) => {
    const request = http.request(process.env.BASE + path, { method: 'POST' }, (answer) => {
      let size = 0;
      answer.on('data', (piece) => (size += piece.length)).on('error', (error) => console.log('http', path, error.code, error.message));
      answer.on('close', () => done(console.log('http', path, answer.statusCode, answer.statusMessage, size, answer.complete)));
    });
    request.on('error', (error) => done(console.log('http', path, error.code, error.message)));
    request.end('hi');
  });
}
`;

export const PROGRAMS = {
  asks: `${ASK}
for (let turn = 0; turn < 5; turn += 1) {
  console.log(await ask('turn ' + turn + 'x'.repeat(20_000)).then((text) => text.length));
  await new Promise((resolve) => setTimeout(resolve, 30));
}
process.exitCode = 3;
`,
  throwingArguments: `${TOOL}${ASK}
const nasty = {
  getter: { get secret() { throw new Error('do not read'); } },
  toJson: { toJSON() { throw new TypeError('no JSON'); } },
  toStr: { toString() { throw new Error('no text'); }, valueOf() { throw new Error('no value'); } },
  trap: new Proxy({}, { get() { throw new Error('trap get'); }, ownKeys() { throw new Error('trap keys'); }, getPrototypeOf() { throw new Error('trap proto'); }, has() { throw new Error('trap has'); }, getOwnPropertyDescriptor() { throw new Error('trap gopd'); } }),
  then: { get then() { throw new Error('then'); } },
  iterator: { get [Symbol.iterator]() { throw new Error('iterator'); }, get [Symbol.asyncIterator]() { throw new Error('async'); } },
  tag: { get [Symbol.toStringTag]() { throw new Error('tag'); } },
  revoked: (() => { const r = Proxy.revocable({}, {}); r.revoke(); return r.proxy; })(),
};
const give = tool('give', (value) => { void value; return 'given'; });
const back = tool('back', (name) => nasty[name]);
const fail = tool('fail', (name) => { throw nasty[name]; });
for (const name of Object.keys(nasty)) {
  await attempt('give ' + name, () => give(nasty[name]));
  // A replay gives back what was recorded, which is never the object itself.
  try { const value = back(name); console.log('back', name, process.env.REENACT_MODE === 'replay' || value === nasty[name] ? 'itself' : 'a copy'); } catch (error) { console.log('back', name, 'threw', error?.message); }
  try { fail(name); } catch { console.log('fail', name); }
}
console.log(await ask());
`,
  oddArguments: `${TOOL}${ASK}
class Order { #secret = 1; constructor() { this.id = 7; } total() { return this.#secret; } }
const circle = { name: 'circle' }; circle.self = circle; circle.list = [circle];
const values = {
  proxy: new Proxy({ a: 1 }, {}), order: new Order(), circle, symbol: Symbol('s'), fn() {}, bare: Object.create(null),
  map: new Map([[{}, new Set([1n])]]), date: new Date(NaN), holes: [, 1, ,], minusZero: -0, nan: NaN,
  deep: Array.from({ length: 5000 }).reduce((inner) => ({ inner }), {}), weak: new WeakMap(), frozen: Object.freeze({ a: [1] }),
  lone: '\\ud800', typed: new Float64Array([NaN, -0]), error: new Error('e', { cause: circle }), promise: Promise.resolve(1),
  url: new URL('http://x/'), regexp: /x/gi, buffer: Buffer.from([1, 2]), boxed: Object('s'), args: (function () { return arguments; })(1, 2),
};
const seen = [];
const keep = tool('keep', (value) => { seen.push(value); return typeof value; });
for (const [name, value] of Object.entries(values)) {
  await attempt(name, () => keep(value));
}
console.log(await ask());
`,
  giantArguments: `${TOOL}${ASK}
const text = 'x'.repeat(100 * 1024 * 1024);
const measure = tool('measure', (value) => value.length);
const long = tool('long', (count) => 'y'.repeat(count));
await attempt('measure', () => measure(text));
await attempt('long', () => long(20 * 1024 * 1024).length);
console.log(await ask('small'));
console.log((await ask(text)).length);
`,
  garbage: garbage(GARBAGE_PATHS),
  tooLong: garbage(['/too-long']),
  manyChunks: `${ASK}import http from 'node:http';
const answer = await fetch(process.env.BASE + '/chunks', { method: 'POST' });
let size = 0;
for await (const piece of answer.body) size += piece.length;
console.log(answer.status, size);
const hash = (await import('node:crypto')).createHash('sha256');
await new Promise((done) => http.get(process.env.BASE + '/chunks', (message) => message.on('data', (piece) => hash.update(piece)).on('end', done)));
console.log(hash.digest('hex'));
`,
  equalCalls: `${ASK}
const answers = await Promise.all(Array.from({ length: 100 }, () => ask()));
console.log(new Set(answers).size, answers.length, answers[0]);
`,
  differentCalls: `${ASK}
const order = [];
const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => ask('n' + n).finally(() => order.push(n))));
console.log(answers.join('|'));
`,
  sessions: `import { session } from 'reenact';
${ASK}
const talk = (n) => session({ id: 'talk-' + n }, async () => {
  const heard = [];
  for (let turn = 0; turn < 5; turn += 1) {
    heard.push(await ask('session ' + (n % 2) + ' turn ' + turn));
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 10));
  }
  return heard.join();
});
console.log((await Promise.all(Array.from({ length: 32 }, (_, n) => talk(n)))).join('|'));
`,
  endlessOutput: `${ASK}
process.stdout.on('error', (error) => { console.error(error.code); process.exit(9); });
for (;;) { process.stdout.write('line of output\\n'.repeat(100)); await ask(); }
`,
  exitInTool: `${TOOL}${ASK}
const leave = tool('leave', async () => { await ask(); process.exit(5); });
console.log(await ask());
process.on('exit', (code) => console.log('exit', code));
await leave();
`,
  throwInTool: `${TOOL}${ASK}
const burst = tool('burst', () => 'done');
console.log(await ask());
process.on('uncaughtException', (error, origin) => { console.log(origin, error.message); process.exit(7); });
console.log(burst());
// Not inside the tool: a replay gives its answer without running it.
setImmediate(() => { throw new RangeError('later'); });
await ask();
`,
  patches: `${ASK}
const calls = { fetch: 0, timer: 0, date: 0, write: 0 };
const { fetch: realFetch, setTimeout: realTimeout, Date: RealDate } = globalThis;
globalThis.fetch = function fetch(...args) { calls.fetch += 1; return realFetch.apply(this, args); };
globalThis.setTimeout = (fn, ...rest) => { calls.timer += 1; return realTimeout(fn, ...rest); };
globalThis.Date = class Date extends RealDate { static now() { calls.date += 1; return 1_700_000_000_000; } };
const realWrite = process.stdout.write;
process.stdout.write = function write(text, ...rest) { calls.write += 1; return realWrite.call(this, text.toString().toUpperCase(), ...rest); };
const http = (await import('node:http')).default;
const realRequest = http.request;
http.request = (...args) => { calls.request = (calls.request ?? 0) + 1; return realRequest(...args); };
console.log(await ask('one'));
await new Promise((resolve) => setTimeout(resolve, 5));
console.log(Date.now(), new Date() instanceof RealDate);
await new Promise((done) => http.request(process.env.BASE, (answer) => answer.resume().on('end', done)).end());
globalThis.fetch = realFetch; globalThis.setTimeout = realTimeout; globalThis.Date = RealDate; http.request = realRequest;
console.log(await ask('two'));
process.stdout.write = realWrite;
console.log(JSON.stringify(calls), fetch === realFetch);
`,
};
