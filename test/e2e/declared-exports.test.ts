import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { HookPrograms, NODES } from './hook-programs';
import type { HookedRun, RunOptions } from './hook-programs';

const declare = (exports: readonly string[], module = './tools.mjs'): unknown => ({ tools: [{ module, exports }] });

describe.each(NODES)('declared exports on %s', (node) => {
  const programs = new HookPrograms();
  afterAll(() => programs.remove());

  /** Runs with and without hooks, expects the same output, and gives the hooked run. */
  async function unchanged(options: RunOptions): Promise<HookedRun> {
    const plain = await programs.run({ ...options, node, unhooked: true });
    const hooked = await programs.run({ ...options, node });
    expect(hooked).toMatchObject({ stdout: plain.stdout, stderr: plain.stderr, code: plain.code, errors: [] });
    return hooked;
  }

  test('are wrapped when exported by alias, list, re-export, star and default expression', async () => {
    const run = await unchanged({
      files: {
        'tools.mjs': `
const one = () => 1;
function two() { return 2; }
export { one as first, two, two as 'third-name' };
export const a = () => 'a', b = () => 'b';
export { inner } from './inner.mjs';
export * from './star.mjs';
export default () => 'default';
`,
        'inner.mjs': `export const inner = () => 'inner';`,
        'star.mjs': `export function starred() { return 'starred'; } export const untouched = () => 'untouched';`,
        'app.mjs': `
import fallback, { first, two, a, b, inner, starred, untouched } from './tools.mjs';
import * as all from './tools.mjs';
console.log(first(), two(), all['third-name'](), a(), b(), inner(), starred(), untouched(), fallback());
console.log(Object.keys(all).join());
`,
      },
      argv: ['app.mjs'],
      config: declare(['first', 'two', 'third-name', 'a', 'b', 'inner', 'starred', 'default']),
    });
    // One function has one wrapper: `third-name` is `two`.
    expect(run.calls).toEqual(['first', 'two', 'two', 'a', 'b', 'inner', 'starred', 'tools']);
  });

  test('keep synchronous results, promises, errors, rejections, generators and this', async () => {
    const run = await unchanged({
      files: {
        'tools.mjs': `
const promise = Promise.resolve(5);
export const same = () => promise;
export const fail = () => { throw new TypeError('no'); };
export const reject = async () => { throw new RangeError('later'); };
export function* counts() { try { const got = yield 1; console.log('got', got); yield 2; } finally { console.log('closed'); } }
export async function* items() { yield 'x'; yield 'y'; }
export function self() { return this; }
export const registry = { name: 'r', self() { return this.name; } };
`,
        'app.mjs': `
import * as tools from './tools.mjs';
console.log(tools.same() === tools.same());
try { tools.fail(); } catch (error) { console.log(error.name, error.message, error.stack.split('\\n')[1].replace(/.*tools/, 'tools')); }
const rejected = tools.reject();
await rejected.catch((error) => console.log(error.name));
const iterator = tools.counts();
console.log(iterator.next(), iterator.next('in'), iterator.return(9), Object.prototype.toString.call(iterator));
for await (const item of tools.items()) console.log(item);
console.log(tools.self() === tools, tools.registry.self());
`,
      },
      argv: ['app.mjs'],
      config: declare(['same', 'fail', 'reject', 'counts', 'items', 'self', 'registry.self']),
    });
    expect(run.calls).toEqual(['same', 'same', 'fail', 'reject', 'counts', 'items', 'self', 'self']);
    const kinds = run.status[0]?.exports.map(({ path, kind }) => [path, kind]);
    expect(kinds).toEqual([
      ['same', 'sync'],
      ['fail', 'sync'],
      ['reject', 'async'],
      ['counts', 'generator'],
      ['items', 'async-generator'],
      ['self', 'sync'],
      ['registry.self', 'sync'],
    ]);
  });

  test('keep name, length, source text, own properties in both directions and what is printed', async () => {
    await unchanged({
      files: {
        'tools.mjs': `
export async function getOrder(id, options) { getOrder.calls = (getOrder.calls ?? 0) + 1; return getOrder.note; }
getOrder.schema = { type: 'object' };
`,
        'app.mjs': `
import { getOrder } from './tools.mjs';
getOrder.note = 'set outside';
console.log(await getOrder(1), getOrder.calls, getOrder.schema, getOrder.name, getOrder.length, getOrder);
console.log(String(getOrder), \`\${getOrder.toString()}\`.length, getOrder.constructor.name, Object.keys(getOrder), typeof getOrder.prototype);
`,
      },
      argv: ['app.mjs'],
      config: declare(['getOrder']),
    });
  });

  test('leave classes, values and absent names alone and say so', async () => {
    const run = await unchanged({
      files: {
        'tools.mjs': `export class Tool { run() { return 1; } }\nexport const limit = 3;\nexport const frozen = Object.freeze({ f() { return 'f'; } });\nexport default 7;`,
        'app.mjs': `import seven, { Tool, limit, frozen } from './tools.mjs'; console.log(new Tool().run(), Tool, limit, frozen.f(), seven);`,
      },
      argv: ['app.mjs'],
      config: declare(['Tool', 'limit', 'frozen.*', 'default', 'missing', 'gone.*', 'frozen.nothing']),
    });
    expect(run.calls).toEqual([]);
    expect(run.status[0]?.exports.map(({ path, state }) => [path, state])).toEqual([
      ['Tool', 'class'],
      ['limit', 'not a function'],
      ['frozen.f', 'read-only'],
      ['default', 'not a function'],
      ['missing', 'absent'],
      ['gone.*', 'absent'],
      ['frozen.nothing', 'absent'],
    ]);
  });

  test('stay live bindings when the module assigns them later', async () => {
    const run = await unchanged({
      files: {
        'tools.mjs': `
export let handler;
export let count = 0;
export function start() { handler = () => 'handled'; count++; }
`,
        'app.mjs': `import { handler, count, start } from './tools.mjs'; console.log(handler, count); start(); console.log(handler(), count);`,
      },
      argv: ['app.mjs'],
      config: declare(['handler', 'start']),
    });
    expect(run.calls).toEqual(['start']);
    expect(run.status[0]?.exports).toMatchObject([{ path: 'handler', state: 'assigned later' }, { state: 'wrapped' }]);
  });

  test('work in circular imports, called before the module has finished', async () => {
    const run = await unchanged({
      files: {
        'tools.mjs': `
import { agent } from './app.mjs';
export function getOrder() { return 'order'; }
export const later = () => 'later';
console.log('during', agent());
`,
        'app.mjs': `
import { getOrder, later } from './tools.mjs';
export function agent() { return getOrder(); }
setTimeout(() => console.log(agent(), later()));
`,
        'start.mjs': `import './tools.mjs';`,
      },
      argv: ['start.mjs'],
      config: declare(['getOrder', 'later']),
    });
    expect(run.calls).toEqual(['getOrder', 'getOrder', 'later']);
  });

  test('are wrapped once when one declared module uses another', async () => {
    const run = await unchanged({
      files: {
        'tools.mjs': `import { find } from './store.mjs'; export { find }; export const getOrder = (id) => find(id);`,
        'store.mjs': `export const find = (id) => 'row ' + id;`,
        'app.mjs': `import { getOrder, find } from './tools.mjs'; import { find as direct } from './store.mjs'; console.log(getOrder(1), find === direct, find(2));`,
      },
      argv: ['app.mjs'],
      config: {
        tools: [{ module: './tools.mjs', exports: ['getOrder', 'find'] }],
        observe: [{ module: './store.mjs', exports: ['find'] }],
      },
    });
    expect(run.calls).toEqual(['getOrder', 'find', 'find']);
  });

  test('leave address, lines and main of the module as they are', async () => {
    await unchanged({
      files: {
        'tools.mjs': `
export const where = () => [import.meta.url, import.meta.dirname, import.meta.filename].map((text) => String(text).replace(/.*program%? ?\\d*\\d+/, '')).join();
export const line = () => new Error('here').stack.split('\\n')[1].replace(/.*tools/, 'tools');
`,
        'app.mjs': `
import { where, line } from './tools.mjs';
import { fileURLToPath } from 'node:url';
import { basename } from 'node:path';
console.log(where(), line(), basename(fileURLToPath(import.meta.resolve('./tools.mjs'))));
console.log((await import('./tools.mjs')).where === where, (await import('./tools.mjs?v=2')).where === where);
`,
      },
      argv: ['app.mjs'],
      config: declare(['where', 'line']),
    });
  });

  test('are wrapped in the getters that esbuild makes of ES modules', async () => {
    const run = await unchanged({
      files: {
        'app.cjs': `const tools = require('./tools.cjs'); console.log(tools.getOrder(), tools.default(), tools.__esModule, Object.keys(tools));`,
      },
      argv: ['app.cjs'],
      config: declare(['getOrder', 'default'], './tools.cjs'),
      prepare: (folder) => compile(folder, 'cjs'),
    });
    expect(run.calls).toEqual(['getOrder', 'tools']);
  });

  test('are wrapped when module.exports is the function, or an instance with methods', async () => {
    const run = await unchanged({
      files: {
        'tools.cjs': `module.exports = async function getOrder(id) { return id; }; module.exports.extra = () => 'extra';`,
        'desk.cjs': `class Desk { #n = 1; open() { return this.#n++; } } module.exports = new Desk();`,
        'app.cjs': `
const getOrder = require('./tools.cjs'); const desk = require('./desk.cjs');
getOrder(4).then((id) => console.log(id, getOrder.extra(), desk.open(), desk.open(), Object.keys(desk), desk.constructor.name));
`,
      },
      argv: ['app.cjs'],
      config: {
        tools: [
          { module: './tools.cjs', exports: ['default', 'extra'], names: { default: 'get_order' } },
          { module: './desk.cjs', exports: ['default.*'] },
        ],
      },
    });
    expect(run.calls).toEqual(['get_order', 'extra', 'open', 'open']);
  });

  test('of a package are wrapped for import and for require', async () => {
    const run = await unchanged({
      files: {
        'node_modules/shop/package.json': JSON.stringify({
          name: 'shop',
          exports: { import: './index.mjs', require: './index.cjs' },
        }),
        'node_modules/shop/index.mjs': `export const buy = () => 'esm';`,
        'node_modules/shop/index.cjs': `exports.buy = () => 'cjs';`,
        'app.mjs': `import { buy } from 'shop'; import { createRequire } from 'node:module'; console.log(buy(), createRequire(import.meta.url)('shop').buy());`,
      },
      argv: ['app.mjs'],
      config: declare(['buy'], 'shop'),
    });
    expect(run.calls).toEqual(['buy', 'buy']);
  });

  test('inside a bundle are out of reach, and the status says that the module never loaded', async () => {
    const run = await unchanged({
      files: { 'entry.mjs': `import { getOrder } from './tools.mjs'; console.log(getOrder());` },
      argv: ['bundle.mjs'],
      config: declare(['getOrder']),
      prepare: (folder) => {
        writeFileSync(join(folder, 'tools.mjs'), `export const getOrder = () => 'bundled';`);
        buildSync({
          entryPoints: [join(folder, 'entry.mjs')],
          bundle: true,
          format: 'esm',
          outfile: join(folder, 'bundle.mjs'),
        });
      },
    });
    expect(run.calls).toEqual([]);
    expect(run.status).toMatchObject([{ module: './tools.mjs', loaded: false, exports: [] }]);
  });

  test('reach the workers of a program', async () => {
    const run = await unchanged({
      files: {
        'tools.mjs': `export const getOrder = () => 'order';`,
        'app.mjs': `
import { Worker, isMainThread } from 'node:worker_threads';
import { getOrder } from './tools.mjs';
if (isMainThread) for (const _ of [1, 2]) await new Promise((done) => new Worker(new URL(import.meta.url)).on('exit', done));
else console.log(getOrder());
`,
      },
      argv: ['app.mjs'],
      config: declare(['getOrder']),
    });
    expect(run.calls).toEqual(['getOrder', 'getOrder']);
  });

  test('of a module that fails or is not there change nothing', async () => {
    const run = await unchanged({
      files: {
        'tools.mjs': `throw new Error('broken at start');\nexport const getOrder = () => 1;`,
        'app.mjs': `
for (const name of ['./tools.mjs', './tools.mjs', './absent.mjs', './syntax.mjs'])
  await import(name).catch((error) => console.log(error.name, error.message.replace(/'.*?program \\d+/g, '')));
`,
        'syntax.mjs': `export const = 1;`,
      },
      argv: ['app.mjs'],
      config: {
        tools: ['tools', 'absent', 'syntax'].map((name) => ({ module: `./${name}.mjs`, exports: ['getOrder'] })),
      },
    });
    expect(run.status).toMatchObject([{ loaded: false }, { loaded: false }, { loaded: false }]);
  });
});

function compile(folder: string, format: 'cjs'): void {
  mkdirSync(join(folder, 'src'));
  writeFileSync(
    join(folder, 'src/tools.ts'),
    `export const getOrder = (): string => 'order'; export default (): string => 'default'; export const other = 1;`,
  );
  buildSync({ entryPoints: [join(folder, 'src/tools.ts')], format, outfile: join(folder, 'tools.cjs') });
  // Guards the test itself: this is the shape that cannot be assigned to.
  if (!readFileSync(join(folder, 'tools.cjs'), 'utf8').includes('__defProp(target, name, { get: all[name]'))
    throw new Error('esbuild makes other exports than before');
}
