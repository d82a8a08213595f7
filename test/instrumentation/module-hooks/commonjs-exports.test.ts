import { applyReplacements } from '../../../instrumentation/commonjs-exports';

const original = (): string => 'original';
const replacement = (): string => 'replaced';
const replacements = new Map([['f', replacement]]);

test('writable exports are replaced in place', () => {
  const exports = { f: original, g: 1 };
  expect(applyReplacements(exports, replacements)).toBe(exports);
  expect(exports).toEqual({ f: replacement, g: 1 });
});

test('configurable getters are replaced in place', () => {
  const exports = Object.defineProperty({}, 'f', { get: () => original, enumerable: true, configurable: true });
  expect(applyReplacements(exports, replacements)).toBe(exports);
  expect(exports).toMatchObject({ f: replacement });
});

test('getters that cannot be redefined are replaced in a copy with the same prototype and properties', () => {
  class Exports {}
  const live = { count: 1 };
  const exports = Object.defineProperties(new Exports(), {
    f: { get: () => original, enumerable: true },
    count: { get: () => live.count, enumerable: true },
    __esModule: { value: true },
  });
  const result = applyReplacements(exports, replacements) as { f: unknown; count: number };
  live.count = 2;
  expect(result).not.toBe(exports);
  expect(result).toBeInstanceOf(Exports);
  expect([result.f, result.count, Object.keys(result)]).toEqual([replacement, 2, ['f', 'count']]);
  expect(Object.getOwnPropertyDescriptor(result, '__esModule')).toEqual(
    Object.getOwnPropertyDescriptor(exports, '__esModule'),
  );
});

test('frozen exports are replaced in a copy', () => {
  expect(applyReplacements(Object.freeze({ f: original, g: 1 }), replacements)).toEqual({ f: replacement, g: 1 });
});

test('a function as module.exports is replaced with its members', () => {
  const exports = Object.assign(() => 'main', { f: original });
  const main = Object.assign(() => 'main replaced');
  expect(applyReplacements(exports, new Map([['module.exports', main], ...replacements]))).toBe(main);
  expect(exports.f).toBe(replacement);
});

test.each([[undefined], [null], [3], ['text']])('exports that are %p stay as they are', (exports) => {
  expect(applyReplacements(exports, replacements)).toBe(exports);
});
