import { firstDifference } from '../../../replay/player/json-difference';

describe('the first difference', () => {
  it.each<[name: string, a: unknown, b: unknown, path: string | undefined]>([
    ['equal values', { a: [1, { b: null }] }, { a: [1, { b: null }] }, undefined],
    ['another order of keys', { a: 1, b: 2 }, { b: 2, a: 1 }, undefined],
    ['a value', { a: { b: 1 } }, { a: { b: 2 } }, '/a/b'],
    ['a type', { a: '1' }, { a: 1 }, '/a'],
    ['null and an object', { a: null }, { a: {} }, '/a'],
    ['an array and an object', { a: [] }, { a: {} }, '/a'],
    ['a longer list', { a: [1] }, { a: [1, 2] }, '/a/1'],
    ['a shorter list', { a: [1, 2] }, { a: [1] }, '/a/1'],
    ['a key less', { a: 1, b: 2 }, { a: 1 }, '/b'],
    ['a key more', { a: 1 }, { a: 1, b: 2 }, '/b'],
    ['the first of several', { a: 1, b: [1, 2] }, { a: 1, b: [9, 8] }, '/b/0'],
    ['keys with the signs of a pointer', { 'a/b~c': 1 }, { 'a/b~c': 2 }, '/a~1b~0c'],
    ['the whole', 1, 2, ''],
  ])('of %s', (_name, a, b, path) => {
    expect(firstDifference(a, b)?.path).toBe(path);
  });

  it('is not hidden by what objects inherit', () => {
    expect(firstDifference({}, { toString: 1 })).toEqual({ path: '/toString', expected: undefined, actual: 1 });
    expect(firstDifference(JSON.parse('{"__proto__":1}'), {})).toMatchObject({ path: '/__proto__', expected: 1 });
  });
});
