import { facadeSource, facadeUrl, moduleShape } from '../../../instrumentation/esm-hooks/facade';

describe('moduleShape', () => {
  test.each([
    ['a function', 'export function f() {}'],
    ['an asynchronous generator', 'export async function* f() {}'],
    ['a constant with types', 'export const f: Tool<Args> = async (a: { id: string }): Promise<void> => {};'],
    ['the second of a list', 'export const a = 1, f = () => 2;'],
    ['an alias', 'const x = 1; export { x as f };'],
    ['a re-export', "export { f } from './x.js';"],
    ['whatever a star brings', "export * from './x.js';"],
  ])('finds %s', (_what, source) => {
    expect(moduleShape(source, ['f'])).toMatchObject({ names: ['f'], reassigned: [] });
  });

  test.each([
    ['CommonJS', 'exports.f = () => 1;'],
    ['CommonJS with a dynamic import', "module.exports = () => import('./x.js');"],
    ['text that the lexer cannot read', "const a = <p>it's</p>; export const f = 1;"],
  ])('declines %s', (_what, source) => {
    expect(moduleShape(source, ['f'])).toBeUndefined();
  });

  test('does not promise a name that the module has not', () => {
    expect(moduleShape('export const g = 1;', ['f', 'g'])?.names).toEqual(['g']);
  });

  test.each([
    ['export default () => 1;', true],
    ['const x = 1; export { x as default };', true],
    ['export default interface Shape {}', false],
    ["const text = 'export default'; export const f = 1;", false],
    ["export * from './x.js';", false],
  ])('knows the default export of %s', (source, hasDefault) => {
    expect(moduleShape(source, [])?.hasDefault).toBe(hasDefault);
  });

  test.each([
    ['export let f; export const start = () => { f = () => 1; };', ['f']],
    ['let f = () => 1; export { f }; setTimeout(() => { f ??= null; });', ['f']],
    ['export let f = () => 1;', []],
    ['var f = async () => 1; export { f };', []],
    ['export let f: Tool = async () => 1; if (f == null || f === x) other.f = 2;', []],
    ['export function f() {} f = memo(f);', []],
  ])('tells bindings that are assigned later: %s', (source, reassigned) => {
    expect(moduleShape(source, ['f'])?.reassigned).toEqual(reassigned);
  });
});

describe('facadeUrl', () => {
  test.each([
    ['file:///a/tools.mjs', 'file:///a/tools.mjs?reenact-facade'],
    ['file:///a/tools.mjs?v=2', 'file:///a/tools.mjs?v=2&reenact-facade'],
    ['file:///a/tools.mjs#x', 'file:///a/tools.mjs?reenact-facade#x'],
  ])('keeps the file of %s', (url, expected) => {
    expect(facadeUrl(url)).toBe(expected);
  });
});

test('facadeSource quotes whatever the address and the names hold', () => {
  const url = `file:///a/it's "quoted".mjs`;
  const source = facadeSource(url, { hasDefault: true, names: ['a"b', 'default'], reassigned: ["c'd"] });
  expect(moduleShape(source, ['a"b', 'default'])?.names).toEqual(['a"b', 'default']);
});
