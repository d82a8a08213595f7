import { Prng } from '../../../instrumentation/prng';
import type { ExecutionLog, ExecutionTurn } from '../../../instrumentation/schema/execution-log';
import { candidatesFrom, findRootCause } from '../../../replay/analysis/root-cause';

type Fields = Record<string, number>;

function logOf(results: readonly Fields[]): ExecutionLog {
  const turns = results.map((result, index): ExecutionTurn => ({
    turnId: String(index),
    timestamp: '2026-01-01T00:00:00.000Z',
    type: 'tool_call',
    request: { name: `tool${index % 3}`, args: {} },
    response: { result },
    durationMs: 1,
  }));
  return { sessionId: 's', agentVersion: '', promptVersion: '', startedAt: '2026-01-01T00:00:00.000Z', turns };
}

/** What a deterministic agent would see: the recorded results with the changes of `--set` texts. */
function withSets(results: readonly Fields[], sets: readonly string[]): Fields[] {
  const seen = structuredClone(results) as Fields[];
  for (const set of sets) {
    const [, turn, field, value] = /^(\d+)(?:\/(\w+))?=(.*)$/.exec(set) ?? [];
    const at = Number(turn) - 1;
    if (field === undefined) seen[at] = JSON.parse(value ?? '') as Fields;
    else (seen[at] as Fields)[field] = JSON.parse(value ?? '') as number;
  }
  return seen;
}

function randomCase(seed: number) {
  const prng = new Prng(`case ${seed}`);
  const pick = (n: number): number => Math.floor(prng.double() * n);
  const turns = 5 + pick(30);
  const make = (): Fields[] =>
    Array.from({ length: turns }, () => Object.fromEntries(['a', 'b', 'c'].map((name) => [name, pick(1_000_000)])));
  return { recorded: make(), sibling: make(), turn: pick(turns), field: ['a', 'b', 'c'][pick(3)] ?? 'a' };
}

describe('root cause', () => {
  it('names the planted field in 200 of 200 conversations, with no more replays than turns and fields', async () => {
    let exact = 0;
    for (let seed = 0; seed < 200; seed++) {
      const { recorded, sibling, turn, field } = randomCase(seed);
      const good = sibling[turn]?.[field];
      const trial = (sets: readonly string[]): Promise<boolean> =>
        Promise.resolve(withSets(recorded, sets)[turn]?.[field] === good);
      const cause = await findRootCause(candidatesFrom(logOf(recorded), [logOf(sibling)]), trial, 100);
      const [only] = cause.decisive;
      if (cause.decisive.length === 1 && only?.turn === turn + 1 && only.path === `/${field}`) exact += 1;
      expect(cause.replays).toBeLessThanOrEqual(recorded.length + 4);
    }
    expect(exact).toBe(200);
  });

  it('accuses nothing in 50 conversations whose outcome no value decides', async () => {
    for (let seed = 0; seed < 50; seed++) {
      const { recorded, sibling } = randomCase(seed);
      const cause = await findRootCause(
        candidatesFrom(logOf(recorded), [logOf(sibling)]),
        () => Promise.resolve(false),
        100,
      );
      expect([cause.decisive, cause.abstained]).toEqual([[], true]);
    }
  });

  it('finds the pair of turns that decides only together', async () => {
    const { recorded, sibling } = randomCase(7);
    const trial = (sets: readonly string[]): Promise<boolean> => {
      const seen = withSets(recorded, sets);
      return Promise.resolve(seen[1]?.['a'] === sibling[1]?.['a'] && seen[3]?.['b'] === sibling[3]?.['b']);
    };
    const cause = await findRootCause(candidatesFrom(logOf(recorded), [logOf(sibling)]), trial, 500);
    expect(cause.decisive.map(({ turn }) => turn)).toEqual([2, 4]);
  });

  it('stops at the limit of replays and says what it has not tried', async () => {
    const { recorded, sibling } = randomCase(3);
    const cause = await findRootCause(
      candidatesFrom(logOf(recorded), [logOf(sibling)]),
      () => Promise.resolve(false),
      3,
    );
    expect(cause.replays).toBe(3);
    expect(cause.untried.length).toBeGreaterThan(0);
  });
});
