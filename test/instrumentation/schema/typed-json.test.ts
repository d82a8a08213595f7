import { decodeTyped, encodeTyped, toPlainJson } from '../../../instrumentation/schema/typed-json';

/** Through JSON text, as a recording travels. */
const roundTrip = (value: unknown): unknown => decodeTyped(JSON.parse(JSON.stringify(encodeTyped(value).json)));

const values: Record<string, unknown> = {
  'plain JSON': { a: [1, 'x', null, true, { b: {} }], '': 0 },
  undefined: undefined,
  'undefined in an object': { a: undefined },
  'undefined in an array': [undefined, 1],
  'numbers that JSON has not': [NaN, Infinity, -Infinity, -0],
  bigint: [0n, -12345678901234567890n],
  dates: [new Date(0), new Date(8.64e15), new Date(-1)],
  maps: new Map<unknown, unknown>([
    [{ k: 1 }, new Set([1, [2]])],
    ['x', undefined],
  ]),
  sets: new Set(['a', new Date(1)]),
  bytes: new Uint8Array([0, 255, 7]),
  'an empty byte array': new Uint8Array(0),
  'a regular expression': /a\/b/giu,
  'a URL': new URL('https://example.com/p?q=1#f'),
  'the tag of the codec as data': { $reenact: 'date', value: 5 },
  'the tag of the codec with other types': { $reenact: 7, a: new Date(0) },
  '__proto__ as an own key': JSON.parse('{"__proto__":{"x":1},"constructor":2}'),
};

describe('typed JSON', () => {
  test.each(Object.entries(values))('carries %s', (_name, value) => {
    const back = roundTrip(value);
    expect(back).toStrictEqual(value);
    expect(encodeTyped(value).lost).toEqual([]);
  });

  it('keeps an invalid date invalid', () => {
    expect((roundTrip(new Date(NaN)) as Date).getTime()).toBeNaN();
  });

  it('keeps a Buffer a Buffer, and a view of a larger one only its part', () => {
    const part = Buffer.from('abcdef').subarray(2, 4);
    expect(roundTrip(part)).toEqual(Buffer.from('cd'));
    expect(Buffer.isBuffer(roundTrip(part))).toBe(true);
    const back = roundTrip(new Uint8Array([1, 2, 3, 4]).subarray(1, 3));
    expect(back).toEqual(new Uint8Array([2, 3]));
    expect(Buffer.isBuffer(back)).toBe(false);
  });

  it('keeps class, message, code and cause of an error', () => {
    const error = Object.assign(new TypeError('bad', { cause: new RangeError('deep') }), { code: 'E_BAD', status: 4 });
    const back = roundTrip(error) as TypeError & { code: string; status: number };
    expect(back).toBeInstanceOf(TypeError);
    expect(back).toMatchObject({ name: 'TypeError', message: 'bad', code: 'E_BAD', status: 4 });
    expect(back.cause).toBeInstanceOf(RangeError);
    expect((back.cause as Error).message).toBe('deep');
  });

  it('keeps the name of an error class that it does not know', () => {
    class NotFound extends Error {
      override name = 'NotFound';
    }
    const back = roundTrip(new NotFound('no')) as Error;
    expect(back).toBeInstanceOf(Error);
    expect(back.name).toBe('NotFound');
  });

  it('carries instances of classes by their own toJSON, else by their fields', () => {
    class Money {
      constructor(readonly cents: number) {}
      toJSON(): string {
        return `${this.cents / 100} €`;
      }
    }
    class Point {
      x = 1;
    }
    expect(roundTrip([new Money(150), new Point()])).toEqual(['1.5 €', { x: 1 }]);
  });

  it.each([
    ['a function', { f: () => 1 }, '/f: function'],
    ['a symbol', [Symbol('x')], '/0: symbol'],
    ['a promise', { p: Promise.resolve(1) }, '/p: Promise'],
    ['a stream of items', { s: (async function* () {})() }, '/s: '],
    ['a getter that throws', { a: Object.defineProperty({}, 'x', { enumerable: true, get: () => { throw new Error('no') } }) }, '/a: Error: no'], // prettier-ignore
  ])('names %s as lost', (_name, value, lost) => {
    expect(encodeTyped(value).lost.join()).toContain(lost);
  });

  it('ends a circle, and still carries what is only shared', () => {
    const circle: Record<string, unknown> = { a: 1 };
    circle['self'] = circle;
    expect(encodeTyped(circle).lost).toEqual(['/self: circular or too deep']);
    const shared = { x: 1 };
    expect(roundTrip([shared, shared])).toEqual([{ x: 1 }, { x: 1 }]);
    expect(encodeTyped([shared, shared]).lost).toEqual([]);
  });

  it('does not overflow on deep nesting', () => {
    let deep: unknown = 1;
    for (let i = 0; i < 50_000; i++) deep = [deep];
    expect(encodeTyped(deep).lost).toHaveLength(1);
  });

  it.each([
    ['an unknown tag', { $reenact: 'nothing' }],
    ['a date of no text', { $reenact: 'date', value: { a: 1 } }],
    ['a map of no pairs', { $reenact: 'map', value: [1, 'x', null] }],
    ['a bigint of letters', { $reenact: 'bigint', value: 'process.exit()' }],
    ['an invalid pattern', { $reenact: 'regexp', value: ['(', 'zz'] }],
    ['a URL that is none', { $reenact: 'url', value: 'no url' }],
    ['an error of nothing', { $reenact: 'error' }],
    ['an object of no pairs', { $reenact: 'object', value: [1, ['a']] }],
  ])('reads forged input without failing: %s', (_name, forged) => {
    expect(() => decodeTyped(forged)).not.toThrow();
  });

  it('lets no forged input reach a prototype', () => {
    decodeTyped(JSON.parse('{"__proto__":{"polluted":1}}'));
    decodeTyped({ $reenact: 'object', value: [['__proto__', { polluted: 1 }]] });
    const error = decodeTyped(
      JSON.parse('{"$reenact":"error","value":{"name":"__proto__","own":{"__proto__":{"polluted":1}}}}'),
    ) as Error;
    expect(error).toBeInstanceOf(Error);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect(error).not.toHaveProperty('polluted');
  });

  it('gives the readable form that JSON.stringify would give', () => {
    const value = { d: new Date(0), u: undefined, n: NaN, list: [undefined], m: 5n };
    expect(toPlainJson(encodeTyped(value).json)).toEqual({
      d: '1970-01-01T00:00:00.000Z',
      n: null,
      list: [null],
      m: '5',
    });
  });
});
