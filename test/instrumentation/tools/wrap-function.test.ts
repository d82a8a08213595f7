import { inspect } from 'node:util';
import { functionKind, isWrapped, wrapFunction } from '../../../instrumentation/tools/wrap-function';
import type { WrappedCall } from '../../../instrumentation/tools/wrap-function';

const spec = { kind: 'tool', name: 'get_order', replay: 'substitute' } as const;
const pass = ({ fn, thisArg, args }: WrappedCall): unknown => Reflect.apply(fn, thisArg, args);

test('a call goes to the given function with the function, this and the arguments', () => {
  const calls: WrappedCall[] = [];
  const fn = function (this: unknown, a: number): number {
    return a + 1;
  };
  const self = {};
  const wrapped = wrapFunction(spec, fn, (call) => {
    calls.push(call);
    return 7;
  });
  expect(wrapped.call(self, 1)).toBe(7);
  expect(calls).toEqual([{ spec, fn, thisArg: self, args: [1] }]);
  expect(calls[0]?.thisArg).toBe(self);
});

test('a wrapped function is not wrapped again, by this or another copy of the package', () => {
  const wrapped = wrapFunction(spec, () => 1, pass);
  expect(isWrapped(wrapped)).toBe(true);
  expect(wrapFunction(spec, wrapped, pass)).toBe(wrapped);
  expect(Object.hasOwn(wrapped, Symbol.for('reenact.wrapped'))).toBe(true);
  expect(Reflect.ownKeys(wrapped)).not.toContain(Symbol.for('reenact.wrapped'));
});

test('the original is not marked', () => {
  const fn = (): number => 1;
  wrapFunction(spec, fn, pass);
  expect(isWrapped(fn)).toBe(false);
});

test('name, length, text, printed form, constructor and prototype are those of the original', () => {
  async function getOrder(id: number, options: object): Promise<unknown> {
    return [id, options];
  }
  const wrapped = wrapFunction(spec, getOrder, pass);
  const seen = (fn: typeof getOrder): unknown[] => [
    fn.name,
    fn.length,
    fn.toString(),
    String(fn),
    inspect(fn),
    fn.constructor,
    Object.getPrototypeOf(fn),
    Reflect.ownKeys(fn),
  ];
  expect(seen(wrapped)).toEqual(seen(getOrder));
});

test('own properties are shared with the original in both directions', () => {
  const fn = Object.assign(() => 1, { schema: 'a' } as { schema: string; cache?: number });
  const wrapped = wrapFunction(spec, fn, pass);
  wrapped.cache = 2;
  fn.schema = 'b';
  expect([fn.cache, wrapped.schema]).toEqual([2, 'b']);
});

test('frozen functions can be wrapped', () => {
  const wrapped = wrapFunction(
    spec,
    Object.freeze(() => 3),
    pass,
  );
  expect([wrapped(), Object.isFrozen(wrapped), Object.getOwnPropertyNames(wrapped)]).toEqual([
    3,
    true,
    ['length', 'name'],
  ]);
});

const makeKinds = {
  sync: () => 1,
  async: async () => 1,
  generator: function* (): Generator<number> {
    yield 1;
  },
  'async-generator': async function* (): AsyncGenerator<number> {
    yield 1;
  },
  class: class Tool {},
};

test.each(Object.entries(makeKinds))('functionKind knows %s', (kind, fn) => {
  expect(functionKind(fn as never)).toBe(kind);
});

test('functionKind takes a constructor with methods for a class', () => {
  function Old(this: unknown): void {}
  (Old.prototype as { run: unknown }).run = () => 1;
  expect(functionKind(Old as never)).toBe('class');
});
