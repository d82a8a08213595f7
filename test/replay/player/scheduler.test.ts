import type { TimerFiring } from '../../../instrumentation/schema/ambient-log';
import { ReplayClock } from '../../../replay/clock/replay-clock';
import { VirtualTimer, VirtualTimers } from '../../../replay/clock/virtual-timers';
import { Quiescence } from '../../../replay/player/quiescence';
import { RecordedFirings } from '../../../replay/player/recorded-firings';
import { Scheduler } from '../../../replay/player/scheduler';

const START = 1_764_550_000_000;

/** A scheduler over real turns of the event loop; `seen` is what the program was given, in order. */
function world(firings: readonly TimerFiring[] = []) {
  const clock = new ReplayClock(new Map(), START);
  const timers: VirtualTimers = new VirtualTimers(
    () => clock.now(),
    () => scheduler.wake(),
  );
  const state = { activity: 0, busy: false };
  const quiescence = new Quiescence({ activity: () => state.activity, busy: () => state.busy });
  const stream = { scope: '', date: [], monotonic: [], timers: [...firings], draws: [], gaps: [] };
  const recorded = new RecordedFirings(new Map([['', stream]]), START);
  const scheduler: Scheduler = new Scheduler({ clock, timers, quiescence, firings: recorded });
  const seen: string[] = [];
  const ordinals = new Map<string, number>();
  return {
    clock,
    timers,
    scheduler,
    seen,
    state,
    release: (name: string, seq: number, run: () => void = () => undefined) =>
      scheduler.add({
        seq,
        ms: START + seq,
        sessionId: 's',
        run: () => {
          seen.push(name);
          run();
        },
      }),
    timer(name: string, delay: number, run: () => void = () => undefined): VirtualTimer {
      const key = `timeout.${delay}`;
      const ordinal = ordinals.get(key) ?? 0;
      ordinals.set(key, ordinal + 1);
      const fn = (): void => {
        seen.push(name);
        run();
      };
      const timer = new VirtualTimer(timers, { identity: { scope: '', key, ordinal }, kind: 'timeout', delay, fn });
      timers.add(timer);
      return timer;
    },
  };
}

/** Real time and turns of the event loop: on a busy machine the one can pass without the other. */
async function pause(ms: number): Promise<void> {
  await new Promise((done) => setTimeout(done, ms));
  for (let turn = 0; turn < 400; turn++) await new Promise((done) => setImmediate(done));
}

describe('the scheduler', () => {
  it('releases what waits in the recorded order, whatever the order in which it was asked for', async () => {
    const w = world();
    w.release('third', 30);
    w.release('first', 10);
    w.release('second', 20);
    await pause(50);
    expect(w.seen).toEqual(['first', 'second', 'third']);
    expect(w.clock.now()).toBe(START + 30);
  });

  it('waits until the program is at rest: what it asks for meanwhile may come first', async () => {
    const w = world();
    w.release('asked first', 20);
    await new Promise((done) => setImmediate(() => setImmediate(done)));
    w.release('asked later, recorded first', 10);
    await pause(50);
    expect(w.seen).toEqual(['asked later, recorded first', 'asked first']);
  });

  it('releases one at a time: what the program does in answer comes before the next', async () => {
    const w = world();
    w.release('first', 10, () => w.release('asked by the first', 15));
    w.release('second', 20);
    await pause(50);
    expect(w.seen).toEqual(['first', 'asked by the first', 'second']);
  });

  it('is not stopped by a call that was recorded and is never made', async () => {
    const w = world();
    w.release('after a gap', 500);
    await pause(50);
    expect(w.seen).toEqual(['after a gap']);
  });

  it.each([
    ['timer', 5, ['timer', 'answer']],
    ['answer', 15, ['answer', 'timer']],
  ])('lets the %s win as it did', async (_winner, seq, order) => {
    const w = world([{ key: 'timeout.100', ordinal: 0, seq, ms: 100 }]);
    w.release('answer', 10);
    w.timer('timer', 100);
    await pause(50);
    expect(w.seen).toEqual(order);
  });

  it('fires timers of which nothing is recorded by their virtual time, when nothing else is left', async () => {
    const w = world();
    w.timer('late', 60_000);
    w.timer('early', 1_000);
    w.release('answer', 10);
    await pause(80);
    expect(w.seen).toEqual(['answer', 'early', 'late']);
    expect(w.clock.now()).toBe(START + 60_000);
  });

  it('does not fire what was cleared, nor what alone would not keep the process', async () => {
    const w = world();
    w.timer('cleared', 10).close();
    w.timer('unreferenced', 10).unref();
    await pause(50);
    expect(w.seen).toEqual([]);
  });

  it('finds the firing of each timer by its ordinal', async () => {
    const w = world([
      { key: 'timeout.10', ordinal: 1, seq: 3, ms: 11 },
      { key: 'timeout.10', ordinal: 0, seq: 4, ms: 12 },
    ]);
    w.timer('made first', 10);
    w.timer('made second', 10);
    await pause(50);
    expect(w.seen).toEqual(['made second', 'made first']);
  });

  it('holds back while something real is under way', async () => {
    const w = world();
    w.state.busy = true;
    w.release('answer', 10);
    await pause(50);
    expect(w.seen).toEqual([]);
    w.state.busy = false;
    await pause(50);
    expect(w.seen).toEqual(['answer']);
  });

  it('gives up virtual time for a program that ticks for ever', async () => {
    const w = world();
    let ticks = 0;
    const tick = (): void => {
      ticks += 1;
      if (!w.clock.isLive) w.timer('tick', 1, tick);
    };
    tick();
    for (let i = 0; i < 100 && !w.clock.isLive; i++) await pause(50);
    expect(w.clock.isLive).toBe(true);
    expect(ticks).toBeGreaterThan(1_000);
    for (const timer of [...w.timers.all()]) timer.close();
  });

  it('does what was asked for at rest before it releases anything', async () => {
    const w = world();
    let asked = false;
    w.scheduler.atRest = () => {
      if (asked) return false;
      asked = true;
      w.release('assigned at rest', 5);
      return true;
    };
    w.release('waiting', 10);
    await pause(50);
    expect(w.seen).toEqual(['assigned at rest', 'waiting']);
  });
});
