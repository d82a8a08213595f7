import { canonicalKey, exactKey, originOf, parseJson, pointerSteps, routeOf } from '../../../replay/player/call-key';
import { request } from './samples';

const key = (body: unknown, ignore: string[] = []): string =>
  canonicalKey(request(typeof body === 'string' ? body : JSON.stringify(body)), ignore);

describe('the exact key', () => {
  it('counts method, path, query and the bytes of the body', () => {
    const base = exactKey(request('{"a":1}'));
    expect(exactKey(request('{"a":1}', { method: 'post' }))).toBe(base);
    for (const other of [
      request('{"a": 1}'),
      request('{"a":1}', { method: 'PUT' }),
      request('{"a":1}', { url: 'https://api.example.com/v1/chat/completions?x=1' }),
      request('{"a":1}', { url: 'https://api.example.com/v1/other' }),
    ])
      expect(exactKey(other)).not.toBe(base);
  });

  it('counts neither host nor headers: retry counters and versions stand there', () => {
    const other = request('{}', { url: 'http://127.0.0.1:9/v1/chat/completions', headers: [['x-stainless-retry-count', '1']] }); // prettier-ignore
    expect(exactKey(other)).toBe(exactKey(request('{}')));
  });
});

describe('the canonical key', () => {
  it('does not count the order of keys or white space', () => {
    expect(key('{"a":1,"b":{"c":2,"d":3}}')).toBe(key('{ "b": {"d":3,"c":2}, "a": 1 }'));
    expect(key({ a: [1, 2] })).not.toBe(key({ a: [2, 1] }));
  });

  it('renames ids in order of appearance, so cross references still count', () => {
    const turn = (first: string, second: string): unknown => [{ call: first }, { answers: second }];
    const [a, b] = ['call_a1b2c3d4e5f6', 'call_z9y8x7w6v5u4'];
    expect(key(turn(a, a))).toBe(key(turn(b, b)));
    expect(key(turn(a, b))).toBe(key(turn(b, a)));
    expect(key(turn(a, a))).not.toBe(key(turn(a, b)));
    expect(key({ id: '6f1c2b0a-1111-4222-8333-444455556666' })).toBe(key({ id: '00000000-1111-4222-8333-999955556666' })); // prettier-ignore
  });

  it('folds no literal of the user', () => {
    for (const [a, b] of [
      ['on 2031-04-05', 'on 2032-06-07'],
      ['order 4711', 'order 4712'],
      ['a@example.com', 'b@example.com'],
      ['order_1234567890', 'order_0987654321'],
      ['call_me_maybe', 'call_me_later'],
      ['1764550000', '1764550001'],
    ])
      expect(key({ text: a })).not.toBe(key({ text: b }));
  });

  it('leaves declared fields out, and tolerates those that are not there', () => {
    const body = (at: number): unknown => ({ meta: { at }, 'a/b': at, list: [{ t: at }, 1] });
    const ignore = ['/meta/at', '/a~1b', '/list/0/t', '/not/there', '/list/9/x'];
    expect(key(body(1), ignore)).toBe(key(body(2), ignore));
    expect(key(body(1))).not.toBe(key(body(2)));
  });

  it('leaves the boundary of multipart bodies out, not their content', () => {
    const form = (boundary: string, text: string): string =>
      canonicalKey(
        request(`--${boundary}\r\ncontent-disposition: form-data; name="f"\r\n\r\n${text}\r\n--${boundary}--\r\n`, {
          headers: [['Content-Type', `multipart/form-data; boundary=${boundary}`]],
        }),
        [],
      );
    expect(form('----formdata-undici-012345', 'x')).toBe(form('----formdata-undici-987654', 'x'));
    expect(form('----formdata-undici-012345', 'x')).not.toBe(form('----formdata-undici-012345', 'y'));
  });

  it('reads a forged pointer without reaching a prototype', () => {
    expect(() => key({ a: 1 }, ['/__proto__/toString', '/constructor/prototype'])).not.toThrow();
    expect(typeof {}.toString).toBe('function');
  });
});

it('a route and an origin are given for what is no URL, too', () => {
  expect(routeOf(request('', { method: 'get', url: 'nonsense' }))).toBe('GET nonsense');
  expect([originOf('https://a.b:444/x'), originOf('nonsense')]).toEqual(['https://a.b:444', '']);
});

it('a JSON Pointer is read as RFC 6901, section 5, shows', () => {
  expect(pointerSteps('')).toEqual([]);
  expect(['/foo/0', '/', '/a~1b', '/m~0n', '/~01'].map(pointerSteps)).toEqual([['foo', '0'], [''], ['a/b'], ['m~n'], ['~1']]); // prettier-ignore
});

it('text that only looks like JSON is no JSON', () => {
  expect(['{', 'nothing', 'data: x', '', '- 1'].map(parseJson)).toEqual(Array(5).fill(undefined));
  expect(['null', ' [1]', '"x"', '-1', 'false'].map(parseJson)).toEqual([null, [1], 'x', -1, false]);
});
