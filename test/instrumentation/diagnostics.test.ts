import { Diagnostics } from '../../instrumentation/diagnostics';

describe('diagnostics', () => {
  it('count failures by place, and say them in one line', () => {
    const diagnostics = new Diagnostics(false);
    expect(diagnostics.summary()).toBeUndefined();
    expect(diagnostics.guard('a', () => 5)).toBe(5);
    for (let i = 0; i < 3; i++) diagnostics.guard('a', () => { throw new Error(`no ${i}`) }); // prettier-ignore
    diagnostics.guard('b', () => { throw 'text' }); // prettier-ignore
    expect(diagnostics.failures).toEqual({ a: 3, b: 1 });
    expect(diagnostics.summary()).toBe('reenact: recording is incomplete: a 3x (no 0); b 1x (text)');
  });
});
