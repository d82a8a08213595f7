import { Prng } from '../../instrumentation/prng';

describe('the seeded generator', () => {
  it('repeats by its seed, and differs by it', () => {
    const ten = (seed: string): number[] => {
      const generator = new Prng(seed);
      return Array.from({ length: 10 }, () => generator.double());
    };
    expect(ten('a')).toEqual(ten('a'));
    expect(ten('b')).not.toEqual(ten('a'));
  });

  it('spreads evenly (chi-square of 256 byte values below its 0.1 % bound)', () => {
    const counts = new Array<number>(256).fill(0);
    const n = 256 * 400;
    for (const byte of new Prng('spread').bytes(n)) counts[byte] = (counts[byte] ?? 0) + 1;
    const chiSquare = counts.reduce((sum, count) => sum + (count - 400) ** 2 / 400, 0);
    // 255 degrees of freedom: 330.5 is exceeded once in a thousand.
    expect(chiSquare).toBeLessThan(330.5);
  });

  it('gives doubles in [0, 1) with a mean of a half', () => {
    const generator = new Prng('mean');
    const draws = Array.from({ length: 20_000 }, () => generator.double());
    expect(Math.min(...draws)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...draws)).toBeLessThan(1);
    expect(Math.abs(draws.reduce((a, b) => a + b) / draws.length - 0.5)).toBeLessThan(0.01);
  });
});
