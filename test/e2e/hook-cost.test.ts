import { HookPrograms, NODES } from './hook-programs';

/** Says which hooks a program was given, without going through anything that the hooks replace. */
const PROBE = `
const Module = require('node:module');
console.log(JSON.stringify({ patched: Module.prototype.load !== globalThis.loadBefore, lexer: Object.keys(require.cache).some((file) => file.includes('es-module-lexer')) }));
`;
const WATCH = `
const Module = require('node:module');
globalThis.loadBefore = Module.prototype.load;
for (const name of ['register', 'registerHooks']) {
  const original = Module[name];
  if (original) Module[name] = (...args) => { console.log(name); return original(...args); };
}
`;

describe.each(NODES)('module hooks on %s', (node) => {
  const programs = new HookPrograms();
  afterAll(() => programs.remove());

  async function hooksOf(config: unknown, files: Record<string, string> = {}): Promise<string[]> {
    const run = await programs.run({
      files: { ...files, 'watch.cjs': WATCH, 'probe.cjs': PROBE },
      argv: ['probe.cjs'],
      before: ['--require', './watch.cjs'],
      node,
      ...(config !== undefined && { config }),
    });
    expect(run).toMatchObject({ code: 0, stderr: '', errors: [] });
    return run.stdout.trim().split('\n');
  }

  test('are not installed when nothing is declared', async () => {
    expect(await hooksOf(undefined)).toEqual(['{"patched":false,"lexer":false}']);
  });

  test('do not touch ES modules when only CommonJS is declared', async () => {
    const config = { tools: [{ module: './tools.cjs', exports: ['f'] }] };
    expect(await hooksOf(config, { 'tools.cjs': 'exports.f = () => 1;' })).toEqual(['{"patched":true,"lexer":false}']);
  });

  test('are not installed for a declared module that does not exist', async () => {
    const config = {
      tools: [
        { module: './absent.mjs', exports: ['f'] },
        { module: 'absent', exports: ['f'] },
      ],
    };
    expect(await hooksOf(config)).toEqual(['{"patched":false,"lexer":false}']);
  });

  test('are registered once when an ES module is declared, and read nothing before it is imported', async () => {
    const config = {
      tools: [
        { module: './tools.mjs', exports: ['f'] },
        { module: './more.mjs', exports: ['f'] },
      ],
    };
    const files = { 'tools.mjs': 'export const f = 1;', 'more.mjs': 'export const f = 1;' };
    const [registration, probe] = await hooksOf(config, files);
    expect(registration).toMatch(/^register(Hooks)?$/);
    expect(probe).toBe('{"patched":true,"lexer":false}');
  });
});

describe.each(NODES)('a package file on %s', (node) => {
  const programs = new HookPrograms('undici');
  afterAll(() => programs.remove());

  test.each([
    [
      'required',
      { 'app.cjs': `const undici = require('undici'); require('undici'); console.log(undici.seen);` },
      'app.cjs',
    ],
    [
      'imported',
      {
        'app.mjs': `import undici from 'undici'; import { request } from 'undici'; console.log(undici.seen, typeof request);`,
      },
      'app.mjs',
    ],
    [
      'required by ESM',
      {
        'app.mjs': `import { createRequire } from 'node:module'; console.log(createRequire(import.meta.url)('undici').seen);`,
      },
      'app.mjs',
    ],
  ])('is seen once per copy when %s', async (_how, files, program) => {
    const copy = {
      'node_modules/undici/package.json': JSON.stringify({ name: 'undici', main: 'index.js' }),
      'node_modules/undici/index.js': `module.exports.request = () => {}; module.exports.inner = require('./lib/index.js');`,
      'node_modules/undici/lib/index.js': `module.exports = {};`,
    };
    const run = await programs.run({ files: { ...copy, ...files }, argv: [program], node });
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect(run.stdout).toMatch(/^1\b/);
  });
});
