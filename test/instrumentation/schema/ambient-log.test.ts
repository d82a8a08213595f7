import { AmbientWriter, readAmbient } from '../../../instrumentation/schema/ambient-log';
import type { ClockRead } from '../../../instrumentation/schema/ambient-log';

/** Numbers from a small generator of its own (Park and Miller), so that a failure can be repeated. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => (state = (state * 48_271) % 2_147_483_647) % below;
}

describe('the ambient log', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])('gives back every read it was given (sequence %i)', (seed) => {
    const next = numbers(seed);
    const writer = new AmbientWriter();
    const scopes = ['', 's:a/t:b%2Fc#1', 'tab\there,and:more'];
    const pieces: string[][] = [];
    const written = new Map<string, { date: ClockRead[]; monotonic: ClockRead[] }>(
      scopes.map((scope) => [scope, { date: [], monotonic: [] }]),
    );
    let [after, ms, us] = [0, 1_764_550_000_000, 0];
    for (let i = 0; i < 2_000; i++) {
      const scope = scopes[next(3)] ?? '';
      after += next(3) === 0 ? 1 : 0;
      // Clocks of the machine may be set back.
      ms += next(4) === 0 ? next(50) - 10 : 0;
      us += next(2) * next(9_000);
      const kind = next(2) === 0 ? 'd' : 'p';
      const read = { after, value: kind === 'd' ? ms : us };
      writer.clockRead(kind, scope, read);
      written.get(scope)?.[kind === 'd' ? 'date' : 'monotonic'].push(read);
      if (next(40) === 0) pieces.push(writer.drain() ?? []);
    }
    pieces.push(writer.drain() ?? []);
    const back = readAmbient(pieces);
    for (const scope of scopes) {
      expect(back.get(scope)?.date).toEqual(written.get(scope)?.date);
      expect(back.get(scope)?.monotonic).toEqual(written.get(scope)?.monotonic);
      expect(back.get(scope)?.gaps).toEqual([]);
    }
  });

  it('gives back firings and draws in order', () => {
    const writer = new AmbientWriter();
    const firings = [
      { key: 'timeout.250', ordinal: 0, seq: 7, ms: 251 },
      { key: 'interval.10', ordinal: 40, seq: 1_000, ms: 100_000 },
    ];
    firings.forEach((firing) => writer.timer('x', firing));
    writer.draw('x', 'uuid', Buffer.from('0'.repeat(36)));
    writer.draw('x', 'bytes', new Uint8Array([1, 2, 3]).subarray(1));
    const stream = readAmbient([writer.drain() ?? []]).get('x');
    expect(stream?.timers).toEqual(firings);
    expect(stream?.draws).toEqual([
      { op: 'uuid', bytes: Buffer.from('0'.repeat(36)) },
      { op: 'bytes', bytes: Buffer.from([2, 3]) },
    ]);
  });

  it('takes one mark for a run of equal reads', () => {
    const writer = new AmbientWriter();
    for (let i = 0; i < 10_000; i++) writer.clockRead('d', '', { after: 3, value: 1_764_550_000_000 });
    const lines = writer.drain() ?? [];
    expect(lines.join('').length).toBeLessThan(40);
    expect(readAmbient([lines]).get('')?.date).toHaveLength(10_000);
  });

  it('is empty after it was drained', () => {
    const writer = new AmbientWriter();
    expect(writer.drain()).toBeUndefined();
    writer.clockRead('p', '', { after: 0, value: 1 });
    expect(writer.drain()).toHaveLength(1);
    expect(writer.drain()).toBeUndefined();
  });

  it('stays within its bound and names the gap', () => {
    const writer = new AmbientWriter(1_000);
    for (let i = 0; i < 10_000; i++) writer.clockRead('d', '', { after: i, value: i * 7 });
    const lines = writer.drain() ?? [];
    expect(lines.join('').length).toBeLessThan(1_300);
    expect(readAmbient([lines]).get('')?.gaps).toEqual([expect.stringContaining('over its bound')]);
  });

  it('names what is damaged and reads the rest', () => {
    const stream = readAmbient([['d\t\t1:a,zz:?,1:1', 't\t\tnothing,timeout.5.0:1:2', 'c\t\tnocolon', 'q\t\tx']]).get(
      '',
    );
    expect(stream?.date).toEqual([
      { after: 1, value: 10 },
      { after: 2, value: 11 },
    ]);
    expect(stream?.timers).toEqual([{ key: 'timeout.5', ordinal: 0, seq: 1, ms: 2 }]);
    expect(stream?.gaps).toHaveLength(4);
  });

  it('does not let a forged repeat fill the memory', () => {
    const stream = readAmbient([[`d\t\t0:0,x${(1e12).toString(36)}`]]).get('');
    expect(stream?.date.length).toBeLessThanOrEqual(1_000_001);
  });

  it('keeps a scope that is not encoded as it should be', () => {
    expect([...readAmbient([['d\t%zz\t0:0', 'd\t__proto__\t0:0']]).keys()]).toEqual(['%zz', '__proto__']);
  });
});
