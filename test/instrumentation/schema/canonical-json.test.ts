import { canonicalJson } from '../../../instrumentation/schema/canonical-json';

describe('canonical JSON', () => {
  it('gives the example of RFC 8785, section 3.2.3', () => {
    const input: unknown = JSON.parse(
      '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/","literals":[null,true,false]}',
    );
    expect(canonicalJson(input)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  it('sorts keys by their UTF-16 units at every depth', () => {
    expect(canonicalJson({ '\u20ac': 1, '\r': 2, '1': 3, '\ud83d\ude02': 4, '\ufb33': 5, a: { c: 1, b: 2 } })).toBe(
      '{"\\r":2,"1":3,"a":{"b":2,"c":1},"€":1,"😂":4,"\ufb33":5}',
    );
  });

  it('leaves undefined members out, as JSON.stringify does', () => {
    expect(canonicalJson({ b: undefined, a: [undefined] })).toBe('{"a":[null]}');
  });

  it('keeps an own key named __proto__', () => {
    expect(canonicalJson(JSON.parse('{"__proto__":1,"a":2}'))).toBe('{"__proto__":1,"a":2}');
  });
});
