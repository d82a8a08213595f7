import { HookPrograms, NODES } from './hook-programs';
import type { RunOptions } from './hook-programs';

const TSX_CJS = require.resolve('tsx/cjs');
const TSX = require.resolve('tsx');

const CONFIG = {
  tools: [
    { module: './tools.js', exports: ['getOrder', 'add', 'registry.*', 'default'], names: { getOrder: 'get_order' } },
  ],
};

const ESM_TOOLS = `
export const getOrder = async ({ id }) => ({ id, url: import.meta.url.split('/').at(-1) });
export function add(a, b) { return a + b; }
export const registry = { refund() { return this === registry; } };
export default async function lookup() { return 'found'; }
export const VERSION = 3;
`;
const ESM_USE = `
console.log(JSON.stringify([await getOrder({ id: 7 }), add(1, 2), registry.refund(), await lookup(), VERSION, getOrder.name, add.length]));
`;
const CJS_TOOLS = `
exports.getOrder = async ({ id }) => ({ id, url: 'tools' });
exports.add = function add(a, b) { return a + b; };
const registry = { refund() { return this === registry; } };
exports.registry = registry;
exports.default = async function lookup() { return 'found'; };
exports.VERSION = 3;
`;
const CALLS = ['get_order', 'add', 'refund', 'lookup'];
const IMPORT = (from: string): string =>
  `import lookup, { getOrder, add, registry, VERSION } from '${from}';\n${ESM_USE}`;

const kinds: Record<string, RunOptions & { readonly needs?: 'stripping' | '--require' }> = {
  'an ES module': {
    files: { 'tools.mjs': ESM_TOOLS, 'app.mjs': IMPORT('./tools.mjs') },
    argv: ['app.mjs'],
  },
  'an ES module by package type': {
    files: { 'package.json': '{"type":"module"}', 'tools.js': ESM_TOOLS, 'app.js': IMPORT('./tools.js') },
    argv: ['app.js'],
  },
  'an ES module found by its syntax': {
    files: { 'tools.js': ESM_TOOLS, 'app.mjs': IMPORT('./tools.js') },
    argv: ['--no-warnings', 'app.mjs'],
  },
  'an ES module imported dynamically': {
    files: {
      'tools.mjs': ESM_TOOLS,
      'app.cjs': `import('./tools.mjs').then(async ({ default: lookup, getOrder, add, registry, VERSION }) => {${ESM_USE}})`,
    },
    argv: ['app.cjs'],
  },
  'a required ES module': {
    files: {
      'tools.mjs': ESM_TOOLS,
      'app.cjs': `const { default: lookup, getOrder, add, registry, VERSION } = require('./tools.mjs'); (async () => {${ESM_USE}})()`,
    },
    argv: ['--no-warnings', 'app.cjs'],
  },
  'a CommonJS module': {
    files: {
      'tools.cjs': CJS_TOOLS,
      'app.cjs': `const { default: lookup, getOrder, add, registry, VERSION } = require('./tools.cjs'); (async () => {${ESM_USE}})()`,
    },
    argv: ['app.cjs'],
  },
  'a CommonJS module imported from ESM': {
    files: {
      'tools.cjs': CJS_TOOLS,
      'app.mjs': `import { getOrder, add, registry, VERSION } from './tools.cjs'; import tools from './tools.cjs'; const lookup = tools.default; ${ESM_USE}`,
    },
    argv: ['app.mjs'],
  },
  'TypeScript through tsx, ESM': {
    files: {
      'package.json': '{"type":"module"}',
      'tools.ts': ESM_TOOLS.replace('add(a, b)', 'add(a: number, b: number): number').replace(
        '({ id })',
        '({ id }: { id: number })',
      ),
      'app.ts': IMPORT('./tools.js'),
    },
    argv: ['--import', TSX, 'app.ts'],
  },
  'TypeScript through tsx loaded before the preload': {
    files: {
      'package.json': '{"type":"module"}',
      'tools.ts': ESM_TOOLS.replace('({ id })', '({ id }: { id: number })'),
      'app.ts': IMPORT('./tools.js'),
    },
    before: ['--import', TSX],
    argv: ['app.ts'],
  },
  'TypeScript through tsx, CommonJS': {
    // `--import` with anything makes Node load this program as ESM, which tsx/cjs does not reach.
    needs: '--require',
    files: {
      'package.json': '{"type":"commonjs"}',
      'tools.ts': ESM_TOOLS.replace('add(a, b)', 'add(a: number, b: number): number').replace(
        "import.meta.url.split('/').at(-1)",
        "'tools'",
      ),
      'app.ts': `import lookup, { getOrder, add, registry, VERSION } from './tools';\nvoid (async () => {${ESM_USE}})();`,
    },
    argv: ['--require', TSX_CJS, 'app.ts'],
  },
  'TypeScript through tsx, without a package': {
    files: {
      'tools.ts': ESM_TOOLS.replace('add(a, b)', 'add(a: number, b: number): number').replace(
        "import.meta.url.split('/').at(-1)",
        "'tools'",
      ),
      'app.ts': `import lookup, { getOrder, add, registry, VERSION } from './tools';\nvoid (async () => {${ESM_USE}})();`,
    },
    argv: ['--import', TSX, 'app.ts'],
  },
  'TypeScript by native type stripping': {
    needs: 'stripping',
    files: {
      'tools.mts': ESM_TOOLS.replace('add(a, b)', 'add(a: number, b: number): number'),
      'app.mts': IMPORT('./tools.mts'),
    },
    argv: ['--no-warnings', 'app.mts'],
  },
  'CommonJS TypeScript by native type stripping': {
    needs: 'stripping',
    files: {
      'tools.cts': CJS_TOOLS.replace('(a, b)', '(a: number, b: number)'),
      'app.cts': `const { default: lookup, getOrder, add, registry, VERSION } = require('./tools.cts'); (async () => {${ESM_USE}})()`,
    },
    argv: ['--no-warnings', 'app.cts'],
  },
};

describe.each(NODES)('declared modules on %s', (node) => {
  const programs = new HookPrograms();
  afterAll(() => programs.remove());

  const cases = Object.entries(kinds).flatMap(([name, options]) =>
    (['require', 'import'] as const)
      .filter((preload) => preload === 'require' || options.needs !== '--require')
      .map((preload) => [name, preload, options] as const),
  );

  test.each(cases)('wrap the functions of %s under --%s and change nothing else', async (_name, preload, options) => {
    // Node 20 has no type stripping: there is nothing to compare.
    if (options.needs === 'stripping' && !(await strips(programs, node))) return;
    const module = `./${Object.keys(options.files)
      .find((file) => file.startsWith('tools'))
      ?.replace(/\.(m|c)?ts$/, '.$1js')}`;
    const config = { tools: [{ ...CONFIG.tools[0], module }] };
    const plain = await programs.run({ ...options, node, preload, unhooked: true });
    const hooked = await programs.run({ ...options, node, preload, config });
    expect({ code: plain.code, stderr: plain.stderr }).toEqual({ code: 0, stderr: '' });
    expect(hooked).toMatchObject({ stdout: plain.stdout, stderr: plain.stderr, code: 0, errors: [] });
    expect(hooked.calls).toEqual(CALLS);
  });
});

async function strips(programs: HookPrograms, node: string): Promise<boolean> {
  const { stdout } = await programs.run({
    files: { 'a.cjs': 'console.log(Boolean(process.features.typescript))' },
    argv: ['a.cjs'],
    node,
    unhooked: true,
  });
  return stdout.trim() === 'true';
}
