import { ScopeStorage, makeScope } from '../../../instrumentation/context';
import type { SessionContext } from '../../../instrumentation/context';
import type { AmbientStream, ClockRead } from '../../../instrumentation/schema/ambient-log';
import { replayDraws } from '../../../replay/clock/replay-draws';
import { ReplayClock } from '../../../replay/clock/replay-clock';
import { VirtualTimer, VirtualTimers } from '../../../replay/clock/virtual-timers';

const START = 1_000_000;
const session: SessionContext = { id: 's', traceId: '', spanId: '', scope: '', startMs: START, progress: { lastSeq: 0 }, started: true, ended: false }; // prettier-ignore
const scope = (path: string) => makeScope({ path, session, spanId: '', traceId: '' });

function stream(fields: Partial<AmbientStream>): AmbientStream {
  return { scope: '', date: [], monotonic: [], timers: [], draws: [], gaps: [], ...fields };
}

function clockOf(reads: Readonly<Record<string, ClockRead[]>>): { clock: ReplayClock; scopes: ScopeStorage } {
  const streams = Object.entries(reads).map(([path, date]): [string, AmbientStream] => [path, stream({ date })]);
  const clock = new ReplayClock(new Map(streams), START);
  const scopes = new ScopeStorage(scope(''));
  clock.scopes = scopes;
  return { clock, scopes };
}

describe('the clock of a replay', () => {
  it('gives the recorded reads in order, then the time of the last event', () => {
    const { clock } = clockOf({ '': [1, 2, 2, 5].map((ms) => ({ after: 0, value: START + ms })) });
    expect([clock.date(), clock.date(), clock.date(), clock.date()]).toEqual([1, 2, 2, 5].map((ms) => START + ms));
    expect(clock.date()).toBe(START + 5);
    clock.advanceTo(START + 70.9);
    expect(clock.date()).toBe(START + 70);
  });

  it('gives back a clock that was set back', () => {
    const { clock } = clockOf({ '': [{ after: 0, value: START + 9 }, { after: 0, value: START + 3 }] }); // prettier-ignore
    expect([clock.date(), clock.date()]).toEqual([START + 9, START + 3]);
  });

  it('passes over reads that the program did not make this time', () => {
    const { clock } = clockOf({ '': [{ after: 0, value: START + 1 }, { after: 0, value: START + 2 }, { after: 8, value: START + 50 }] }); // prettier-ignore
    expect(clock.date()).toBe(START + 1);
    clock.passed('s', 8);
    expect(clock.date()).toBe(START + 50);
  });

  it('keeps the reads of each scope apart', () => {
    const { clock, scopes } = clockOf({ '': [{ after: 0, value: START + 1 }], 't:a#1': [{ after: 0, value: START + 2 }] }); // prettier-ignore
    expect(scopes.run(scope('t:a#1'), () => clock.date())).toBe(START + 2);
    expect(clock.date()).toBe(START + 1);
  });

  it('does not use up a recorded read for our own work', () => {
    const { clock, scopes } = clockOf({ '': [{ after: 0, value: START + 7 }] });
    scopes.untracked(() => clock.date());
    expect(clock.date()).toBe(START + 7);
  });

  it('never goes back by an event, and runs at wall speed once live', async () => {
    const { clock } = clockOf({});
    clock.advanceTo(START + 100);
    clock.advanceTo(START + 50);
    expect(clock.now()).toBe(START + 100);
    clock.goLive();
    await new Promise((done) => setTimeout(done, 30));
    expect(clock.now() - START - 100).toBeGreaterThanOrEqual(25);
    expect(clock.now() - START - 100).toBeLessThan(5_000);
  });

  it('gives the recorded microseconds to performance, hrtime and uptime alike', () => {
    const monotonic = [10, 25, 31].map((value) => ({ after: 0, value }));
    const clock = new ReplayClock(new Map([['', stream({ monotonic })]]), START);
    expect([clock.monotonic(), clock.uptime(), clock.monotonic()]).toEqual([10, 25, 31]);
  });
});

describe('draws of a replay', () => {
  const scopes = new ScopeStorage(scope(''));
  const never = (): Uint8Array => {
    throw new Error('drawn for real');
  };
  const draws = [{ op: 'bytes', bytes: Buffer.from('abcd') }, { op: 'uuid', bytes: Buffer.from('u'.repeat(36)) }, { op: 'bytes', bytes: Buffer.from('xy') }]; // prettier-ignore

  it('come from the log, by kind and length', () => {
    const source = replayDraws(new Map([['', stream({ draws })]]), scopes, 'seed');
    expect(source.draw('bytes', 2, never)).toEqual(Buffer.from('xy'));
    expect(source.draw('bytes', 4, never)).toEqual(Buffer.from('abcd'));
    expect(source.draw('uuid', 36, never)).toEqual(Buffer.from('u'.repeat(36)));
  });

  it('beyond the log are the same in every replay of it, and differ between scopes', () => {
    const drawn = (path: string, seed: string): unknown[] =>
      scopes.run(scope(path), () => {
        const source = replayDraws(new Map(), scopes, seed);
        const int = source.draw('int', 8, (uniform) => Buffer.from([Math.floor((uniform?.() ?? NaN) * 100)]));
        return [source.draw('bytes', 8, never), source.draw('uuid', 36, never), int].map((b) => Buffer.from(b).toString('hex')); // prettier-ignore
      });
    expect(drawn('', 'seed')).toEqual(drawn('', 'seed'));
    expect(drawn('', 'seed')).not.toEqual(drawn('t:a#1', 'seed'));
    expect(drawn('', 'seed')).not.toEqual(drawn('', 'other'));
  });

  it('are version 4 UUIDs beyond the log (RFC 9562)', () => {
    const source = replayDraws(new Map(), scopes, 'seed');
    for (let i = 0; i < 50; i++)
      expect(Buffer.from(source.draw('uuid', 36, never)).toString()).toMatch(
        /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      );
  });
});

describe('a virtual timer', () => {
  const identity = { scope: '', key: 'timeout.5', ordinal: 0 };
  const make = (fn: () => void, kind: 'timeout' | 'interval' = 'timeout') => {
    const timers = new VirtualTimers(
      () => START,
      () => undefined,
    );
    const timer = new VirtualTimer(timers, { identity, kind, delay: 5, fn });
    timers.add(timer);
    return { timers, timer };
  };

  it('is gone after it fired, an interval is not', () => {
    const [once, again] = [make(() => undefined), make(() => undefined, 'interval')];
    once.timer.fire();
    again.timer.fire();
    expect([once.timers.has(once.timer), again.timers.has(again.timer)]).toEqual([false, true]);
  });

  it('is cleared by itself, its number and the number as text', () => {
    for (const handle of [(t: VirtualTimer) => t, (t: VirtualTimer) => +t, (t: VirtualTimer) => `${+t}`]) {
      const { timers, timer } = make(() => undefined);
      expect(timers.clear(handle(timer))).toBe(true);
      expect(timers.has(timer)).toBe(false);
    }
    expect(make(() => undefined).timers.clear(77)).toBe(false);
  });

  it('can be refreshed after it fired, not after it was cleared', () => {
    const { timers, timer } = make(() => undefined);
    timer.fire();
    expect(timers.has(timer.refresh())).toBe(true);
    timer.close();
    expect(timers.has(timer.refresh())).toBe(false);
  });

  it('fires at wall speed once the replay is live', async () => {
    const fired = await new Promise<number>((done) => {
      const begin = performance.now();
      const { timers } = make(() => done(performance.now() - begin));
      timers.goLive();
    });
    expect(fired).toBeGreaterThanOrEqual(4);
  });
});
