import { NODES } from '../hook-programs';
import { InstalledPrograms } from '../installed-programs';

/** Each program prints what must not depend on recording; an error is printed as its name and code. */
const clock: Record<string, string> = {
  'a Date is an instance of Date': `say(new Date() instanceof Date, new Date(0) instanceof Date, new Date().constructor === Date)`,
  'a subclass of Date works': `class Mine extends Date { year() { return this.getUTCFullYear(); } }
    const mine = new Mine(0); say(mine instanceof Mine, mine instanceof Date, mine.year(), mine.constructor === Mine)`,
  'Date() without new gives a text of now': `say(typeof Date(), Math.abs(Date.parse(Date()) - Date.now()) < 2000)`,
  'the statics of Date work': `say(Date.UTC(2026, 0), Date.parse('2026-01-01T00:00:00Z'), Date.length, Date.name, typeof Date.now(), Date.now.name, Date.now.length)`,
  'arguments of Date mean what they meant': `say(+new Date(2026, 1), +new Date('x'), +new Date(undefined), +new Date(null), +new Date(new Date(5)))`,
  'Date looks the same': `say(util.inspect(Date), util.inspect(new Date(0)), Object.keys(Date), Object.getOwnPropertyNames(Date).sort(), Object.prototype.toString.call(new Date()))`,
  'a Date survives structuredClone': `say(structuredClone(new Date(7)) instanceof Date, util.types.isDate(structuredClone(new Date())))`,
  'Reflect.construct makes a Date': `say(Reflect.construct(Date, [3]) instanceof Date, +Reflect.construct(Date, [3]))`,
  'time does not go back': `const a = [Date.now(), performance.now(), process.hrtime.bigint(), process.uptime()];
    const b = [Date.now(), performance.now(), process.hrtime.bigint(), process.uptime()]; say(a.map((x, i) => x <= b[i]))`,
  'the clocks agree on how long something takes': `const p = performance.now(), h = process.hrtime(), u = process.uptime();
    setTimeout(() => { const [s, n] = process.hrtime(h); const d = performance.now() - p; say(s >= 0 && n >= 0, Math.abs(s * 1e3 + n / 1e6 - d) < 1000, Math.abs((process.uptime() - u) * 1e3 - d) < 1000) }, 30)`,
  'hrtime refuses what it refused': `for (const bad of [null, 1, 'x', [], [1], {}]) attempt(() => process.hrtime(bad))`,
  'performance keeps its members': `say(performance instanceof Performance, typeof performance.timeOrigin, performance === require('node:perf_hooks').performance, performance.mark('a').name, performance.getEntriesByName('a').length, typeof performance.toJSON())`,
  'performance fits the time of day': `say(Math.abs(performance.timeOrigin + performance.now() - Date.now()) < 1000)`,
  'Intl formats now by default, and what it is given': `const f = new Intl.DateTimeFormat('en', { timeZone: 'UTC' });
    say(f.format() === f.format(new Date()), f.format(0), f.format(null), f.format(undefined) === f.format(), f.formatToParts(null).length, f.formatToParts().length, [0, 1].map(f.format))`,
};

const random: Record<string, string> = {
  'Math.random has the range and spread of a fair source': `const n = 20000, bins = Array(10).fill(0); let low = 1, high = 0;
    for (let i = 0; i < n; i++) { const r = Math.random(); bins[Math.floor(r * 10)]++; low = Math.min(low, r); high = Math.max(high, r); }
    say(low >= 0, high < 1, bins.every((b) => Math.abs(b - n / 10) < 250), Math.random.name, Math.random.length)`,
  'randomBytes gives bytes, at once and by callback': `say(crypto.randomBytes(9).length, Buffer.isBuffer(crypto.randomBytes(1)), crypto.randomBytes(0).length);
    let later = false; crypto.randomBytes(4, function (e, b) { say(e, b.length, later, arguments.length) }); later = true`,
  'randomBytes refuses what it refused': `for (const bad of [-1, 'x', undefined, 1.5, 2 ** 32]) attempt(() => crypto.randomBytes(bad).length); attempt(() => crypto.randomBytes(1, null)); attempt(() => crypto.randomBytes(1, 'x'))`,
  'randomFillSync fills the part that is named, in elements': `for (const view of [new Uint8Array(16), new Uint32Array(16), new DataView(new ArrayBuffer(16)), new ArrayBuffer(16), Buffer.alloc(16)]) {
      say(crypto.randomFillSync(view, 4, 8) === view); const all = new Uint8Array(view.buffer ?? view); const unit = view.BYTES_PER_ELEMENT ?? 1;
      say(all.slice(0, 4 * unit).every((b) => b === 0), all.slice(4 * unit, 12 * unit).some((b) => b !== 0), all.slice(12 * unit).every((b) => b === 0)) }`,
  'randomFill fills the part that is named, by callback': `const view = new Uint16Array(8); crypto.randomFill(view, 2, 4, (e, v) => { say(e, v === view, [...v].slice(0, 2), [...v].slice(6), [...v].slice(2, 6).some(Boolean));
    crypto.randomFill(new ArrayBuffer(32), (e, v) => { say(e, new Uint8Array(v).some(Boolean)); crypto.randomFill(new Uint8Array(64), 60, (e, v) => say(e, v.slice(0, 60).some(Boolean))) }) })`,
  'randomFill refuses what it refused': `for (const args of [[], [1], [new Uint8Array(2), 5], [new Uint8Array(2), 0, 9], [new Uint8Array(2), 'x']]) attempt(() => crypto.randomFillSync(...args)?.length);
    attempt(() => crypto.randomFill(new Uint8Array(2))); attempt(() => crypto.randomFill(new Uint8Array(2), 9, () => {}))`,
  'randomInt stays in its range': `say(Array.from({ length: 200 }, () => crypto.randomInt(3)).every((n) => n >= 0 && n < 3), crypto.randomInt(7, 8), crypto.randomInt(-5, -4)); crypto.randomInt(2, 3, (e, n) => say(e, n)); crypto.randomInt(1, (e, n) => say(e, n))`,
  'randomInt refuses what it refused': `for (const args of [[], ['x'], [5, 5], [0], [1, 2 ** 49], [1.5]]) attempt(() => crypto.randomInt(...args))`,
  'randomUUID gives version 4': `const v4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/; say(v4.test(crypto.randomUUID()), v4.test(globalThis.crypto.randomUUID()), v4.test(crypto.randomUUID({ disableEntropyCache: true })), crypto.randomUUID() === crypto.randomUUID()); attempt(() => crypto.randomUUID(5))`,
  'getRandomValues fills every view': `for (const View of [Uint8Array, Int16Array, Uint32Array, BigUint64Array]) { const v = new View(16); say(globalThis.crypto.getRandomValues(v) === v, v.some((n) => n != 0)) }
    const part = new Uint8Array(12); crypto.webcrypto.getRandomValues(part.subarray(4, 8)); say([...part.slice(0, 4)], [...part.slice(8)]); say(crypto.getRandomValues(new Uint8Array(3)).length)`,
  'getRandomValues refuses what it refused': `for (const bad of [new Float64Array(1), new Uint8Array(65537), 'x', undefined, new DataView(new ArrayBuffer(1))]) attempt(() => globalThis.crypto.getRandomValues(bad)); attempt(() => { const { getRandomValues } = globalThis.crypto; getRandomValues(new Uint8Array(1)) })`,
};

const timers: Record<string, string> = {
  'a callback gets its this and arguments': `const t = setTimeout(function (...a) { say(this === t, a) }, 1, 'x', 2); const i = setInterval(function (a) { clearInterval(i); say(this === i, a) }, 1, 'y')`,
  'refresh starts a timer again, also one that has fired': `let n = 0; const t = setTimeout(() => { say(++n); if (n < 3) t.refresh() }, 2)`,
  'refresh does not revive what was cleared': `const t = setTimeout(() => say('no'), 2); clearTimeout(t); t.refresh(); setTimeout(() => say('end'), 20)`,
  'clear accepts a timer, its number and that number as text': `for (const of_ of [(t) => t, (t) => +t, (t) => String(+t)]) clearTimeout(of_(setTimeout(() => say('no'), 1))); clearTimeout(undefined); clearTimeout(null); clearTimeout({}); clearTimeout(99999); setTimeout(() => say('end'), 10)`,
  'an interval can clear itself': `let n = 0; const t = setInterval(() => { say(++n); if (n === 3) clearInterval(t) }, 1)`,
  'ref, unref and hasRef tell what they told': `const t = setTimeout(() => say('never: nothing keeps the process'), 50_000); say(t.hasRef(), t.unref() === t, t.hasRef(), t.ref() === t, t.hasRef()); t.unref()`,
  'a timer is disposable': `const t = setTimeout(() => say('no'), 1); t[Symbol.dispose](); say(typeof t.close); setTimeout(() => say('end'), 10)`,
  'util.promisify gives the promise with its value': `util.promisify(setTimeout)(1, 'v').then(say)`,
  'timers/promises sleeps, and can be aborted': `const p = require('node:timers/promises'); (async () => { say(await p.setTimeout(1, 'v')); say(await p.scheduler.wait(1)); const c = new AbortController();
    setTimeout(() => c.abort('why'), 1); await p.setTimeout(1000, 0, { signal: c.signal }).catch((e) => say(e.name, e.code, e.message, e.cause)); await p.setTimeout(1, 0, { signal: c.signal }).catch((e) => say(e.name)) })()`,
  'timers/promises iterates an interval': `const p = require('node:timers/promises'); (async () => { let n = 0; for await (const v of p.setInterval(2, 'v')) { say(v); if (++n === 3) break }
    const c = new AbortController(); try { for await (const _ of p.setInterval(1, 0, { signal: c.signal })) { if (++n === 5) c.abort('why') } } catch (e) { say(e.name, e.code, e.cause, n) } })()`,
  'timers/promises refuses what it refused': `const p = require('node:timers/promises'); (async () => { for (const f of [() => p.setTimeout(1, 0, { signal: 5 }), () => p.setTimeout(1, 0, 5), () => p.setTimeout(1, 0, { ref: 1 }), () => p.setInterval(1, 0, { signal: 5 }).next(), () => p.setInterval(1, 0, { ref: 'x' }).next()]) await (async () => f())().then(() => say('ok'), (e) => say(e.name, e.code)) })()`,
  'AbortSignal.timeout aborts with a TimeoutError': `const s = AbortSignal.timeout(2); s.addEventListener('abort', () => say(s.reason.name, s.reason.code, s.reason instanceof DOMException, s.reason.message)); setTimeout(() => {}, 30)`,
  'AbortSignal.timeout keeps nothing alive and refuses what it refused': `AbortSignal.timeout(5000); for (const bad of [-1, 'x', 1.5, undefined, 2 ** 40]) attempt(() => AbortSignal.timeout(bad))`,
  'timers refuse what they refused': `for (const bad of [undefined, 'code', 5]) { attempt(() => setTimeout(bad, 1)); attempt(() => setInterval(bad, 1)) }`,
  'strange delays are one millisecond': `for (const d of [undefined, null, -5, NaN, 0, 2 ** 40]) setTimeout(() => say(typeof d), d)`,
  'the order of timers holds': `for (const d of [9, 3, 6, 3]) setTimeout(() => say(d), d); process.nextTick(() => say('tick')); queueMicrotask(() => say('microtask'))`,
  'the names of timers stay': `say(setTimeout.name, setTimeout.length, setInterval.name, clearTimeout.name, AbortSignal.timeout.name, require('node:timers').setTimeout === setTimeout)`,
  'an uncaught error of a callback does not stop the others': `process.on('uncaughtException', (e) => say(e.message)); setTimeout(() => { throw new Error('boom') }, 2); setTimeout(() => say('later'), 8); setTimeout(() => say('latest'), 16)`,
  'async context reaches callbacks': `const { AsyncLocalStorage } = require('node:async_hooks'); const als = new AsyncLocalStorage(); als.run(5, () => { setTimeout(() => say(als.getStore()), 1); crypto.randomBytes(1, () => say(als.getStore())) })`,
};

/** All cases of a group in one process, each with its own lines; they are printed when nothing is left to do. */
const program = (cases: Readonly<Record<string, string>>): string => `
const util = require('node:util'), crypto = require('node:crypto');
const all = {};
const begin = (name) => {
  const lines = (all[name] = []);
  const say = (...values) => lines.push(util.inspect(values, { depth: 4, breakLength: Infinity }));
  const attempt = (fn) => { try { say('ok', typeof fn()) } catch (e) { say(e.name, e.code) } };
  return { say, attempt };
};
process.on('exit', () => process.stdout.write(JSON.stringify(all)));
require('reenact').tool('start', () => 1)();
${Object.entries(cases)
  .map(([name, code]) => `{ const { say, attempt } = begin(${JSON.stringify(name)});\n${code} }`)
  .join('\n')}
`;

const lines = (stdout: string): Record<string, string[]> => JSON.parse(stdout) as Record<string, string[]>;

const groups = NODES.flatMap((node) =>
  Object.entries({ clock, random, timers }).map(([group, cases]) => ({ group, cases, node })),
);

describe.each(groups)('$group of a program on $node', ({ group, cases, node }) => {
  const programs = new InstalledPrograms({ [`${group}.cjs`]: program(cases) });
  let [plain, recorded, replayed]: Record<string, string[]>[] = [{}, {}, {}];

  beforeAll(async () => {
    const argv = ['--no-warnings', `${group}.cjs`];
    const [first, second] = [await programs.run(argv, { node }), await programs.record(argv, { node })];
    const third = await programs.replay();
    expect(
      [first, second, third].map(({ code, stderr }) => [code, stderr.replace(/^reenact: replayed .*\n$/, '')]),
    ).toEqual(Array(3).fill([0, '']));
    [plain, recorded, replayed] = [first, second, third].map(({ stdout }) => lines(stdout));
  }, 60_000);
  afterAll(() => programs.remove());

  test.each(Object.keys(cases))('%s, recorded and replayed', (name) => {
    expect(plain?.[name]).not.toEqual([]);
    expect(recorded?.[name]).toEqual(plain?.[name]);
    expect(replayed?.[name]).toEqual(plain?.[name]);
  });
});
