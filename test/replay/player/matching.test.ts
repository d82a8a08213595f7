import type { WireRequest } from '../../../instrumentation/schema/records';
import { RecordedExchanges, RecordedFunctions } from '../../../replay/player/recorded-calls';
import { assignWave } from '../../../replay/player/wave';
import type { WaitingCall } from '../../../replay/player/waiting-call';
import { ask, recorded, recordedTool, request } from './samples';

type Call = readonly [name: string, wire: WireRequest, scope?: string];

const waiting = (wire: WireRequest, scope: string): WaitingCall => ({
  incoming: {} as WaitingCall['incoming'],
  request: wire,
  scope,
});

/**
 * Records the first calls, replays the second; what each replayed call got, by name. Calls that nothing answers exactly
 * are given the answers of their places in one wave, as with `--on-divergence recorded`; `-`: none.
 */
function replay(before: readonly Call[], after: readonly Call[]): Record<string, string> {
  const records = before.map(([name, wire, scope = '']) => recorded(wire, { scope, name }));
  const pool = new RecordedExchanges(records, []);
  const got = new Map<string, string>();
  const wave: { name: string; call: WaitingCall }[] = [];
  for (const [name, wire, scope = ''] of after) {
    const match = pool.match(wire, scope);
    if (match === undefined) wave.push({ name, call: waiting(wire, scope) });
    else {
      pool.claim(match.record);
      got.set(name, match.record.name);
    }
  }
  const assigned = assignWave(
    wave.map(({ call }) => call),
    pool.unused(),
  );
  for (const { name, call } of wave) got.set(name, assigned.get(call)?.name ?? '-');
  return Object.fromEntries(got);
}

/** Each call gets the answer that was recorded for it. */
const own = (calls: readonly Call[]): Record<string, string> => Object.fromEntries(calls.map(([name]) => [name, name]));

describe('each call gets its own recorded answer when', () => {
  const [a, b, c]: Call[] = [
    ['a', ask('alpha')],
    ['b', ask('beta')],
    ['c', ask('gamma')],
  ] as [Call, Call, Call];

  it('parallel calls are issued in another order', () => {
    expect(replay([a, b, c], [c, a, b])).toEqual(own([a, b, c]));
  });

  it('two sub-agents with identical prompts run in another order', () => {
    const calls: Call[] = [
      ['one', ask('same'), 't:agent#1'],
      ['two', ask('same'), 't:agent#2'],
    ];
    expect(replay(calls, [...calls].reverse())).toEqual(own(calls));
  });

  it('the text of a prompt is edited', () => {
    expect(replay([a, b], [['a', ask('alpha, please')], b])).toEqual(own([a, b]));
  });

  it('an extra call comes first', () => {
    expect(replay([a, b], [['new', ask('something else')], a, b])).toEqual({ ...own([a, b]), new: '-' });
  });

  it('the agent makes ids of its own', () => {
    const with_ = (id: string, more: string): WireRequest => ask(`for ${id}`, { metadata: { more } });
    const [first, second] = ['6f1c2b0a-1111-4222-8333-444455556666', 'a0b1c2d3-9999-4888-8777-666655554444'];
    expect(replay([['x', with_(first, '1')], ['y', with_(first, '2')]], [['y', with_(second, '2')], ['x', with_(second, '1')]])).toEqual({ x: 'x', y: 'y' }); // prettier-ignore
  });

  it('a retry sends the same body twice', () => {
    const calls: Call[] = [
      ['first attempt', ask('same')],
      ['second attempt', ask('same')],
    ];
    expect(replay(calls, calls)).toEqual(own(calls));
  });

  it('the same question is sampled several times', () => {
    const calls = [1, 2, 3, 4, 5].map((n): Call => [`sample ${n}`, ask('same')]);
    expect(replay(calls, calls)).toEqual(own(calls));
  });

  it('a prompt is edited and agents run in another order', () => {
    const before: Call[] = [
      ['one', ask('plan the trip'), 't:agent#1'],
      ['two', ask('plan the menu'), 't:agent#2'],
    ];
    const after: Call[] = [
      ['two', ask('plan the menu!'), 't:agent#2'],
      ['one', ask('plan the trip!'), 't:agent#1'],
    ];
    expect(replay(before, after)).toEqual(own(before));
  });

  it('a prompt is edited and calls of one parent run in another order', () => {
    const turn = (instructions: string, text: string): WireRequest =>
      ask('', { messages: [{ role: 'system', content: instructions }, { role: 'user', content: text }] }); // prettier-ignore
    const before: Call[] = [['x', turn('Be brief.', 'weather in Rome')], ['y', turn('Be brief.', 'price of order 7')]]; // prettier-ignore
    const after: Call[] = [['y', turn('Be kind.', 'price of order 7')], ['x', turn('Be kind.', 'weather in Rome')]]; // prettier-ignore
    expect(replay(before, after)).toEqual(own(before));
  });

  it('a call is dropped', () => {
    expect(replay([a, b, c], [b, c])).toEqual(own([b, c]));
  });
});

describe('a recording', () => {
  it('is used once: exhausted stays exhausted', () => {
    const pool = new RecordedExchanges([recorded(ask('x')), recorded(ask('x'))], []);
    for (let i = 0; i < 2; i++) {
      const match = pool.match(ask('x'), '');
      expect(match?.rule).toBe('exact');
      if (match !== undefined) pool.claim(match.record);
    }
    expect(pool.match(ask('x'), '')).toBeUndefined();
    expect(pool.unused()).toEqual([]);
  });

  it('of another scope answers only when it is the only one', () => {
    const one = new RecordedExchanges([recorded(ask('x'), { scope: 'other' })], []);
    expect(one.match(ask('x'), '')?.rule).toBe('exact elsewhere');
    const two = new RecordedExchanges([recorded(ask('x'), { scope: 'b' }), recorded(ask('x'), { scope: 'c' })], []);
    expect(two.match(ask('x'), '')).toBeUndefined();
  });

  it('answers a call of unknown scope in the recorded order', () => {
    const [late, early] = [recorded(ask('x'), { scope: 'b', seqStart: 9e6 }), recorded(ask('x'), { scope: 'c', seqStart: 1 })]; // prettier-ignore
    expect(new RecordedExchanges([late, early], []).match(ask('x'), undefined)?.record).toBe(early);
  });

  it('does not answer for a changed value of a field, unless it is declared volatile', () => {
    const [before, after] = [ask('x', { now: 1 }), ask('x', { now: 2 })];
    expect(new RecordedExchanges([recorded(before)], []).match(after, '')).toBeUndefined();
    expect(new RecordedExchanges([recorded(before)], ['/now']).match(after, '')?.rule).toBe('canonical');
  });
});

describe('a place in a wave', () => {
  it('needs the same endpoint, model, tools and roles', () => {
    const call = waiting(ask('new'), '');
    const differing = [
      recorded(ask('old', { model: 'other' })),
      recorded(ask('old', { messages: [{ role: 'system', content: 'x' }, { role: 'user', content: 'old' }] })), // prettier-ignore
      recorded(ask('old', { tools: [{ type: 'function', function: { name: 'f' } }] })),
      recorded(request('{"a":1}', { url: 'https://api.example.com/v1/other' })),
      recorded(ask('old'), { scope: 'elsewhere' }),
    ];
    expect(assignWave([call], differing).size).toBe(0);
    const fitting = recorded(ask('old'));
    expect(assignWave([call], [...differing, fitting]).get(call)).toBe(fitting);
  });

  it('is given once, and a call too many gets none', () => {
    const calls = [waiting(ask('x1'), ''), waiting(ask('x2'), ''), waiting(ask('x3'), '')];
    const assigned = assignWave(calls, [recorded(ask('y1')), recorded(ask('y2'))]);
    expect(assigned.size).toBe(2);
    expect(new Set(assigned.values()).size).toBe(2);
  });
});

describe('a recorded tool call', () => {
  it('answers the same name and arguments in any order of keys, each once', () => {
    const [first, second] = [recordedTool('f', { a: 1, b: 2 }), recordedTool('f', { a: 1, b: 2 })];
    const pool = new RecordedFunctions([second, first]);
    const call = { kind: 'tool' as const, name: 'f', args: { b: 2, a: 1 }, scope: '' };
    expect(pool.match(call)).toBe(first);
    pool.claim(first);
    expect(pool.match(call)).toBe(second);
    pool.claim(second);
    expect(pool.match(call)).toBeUndefined();
    expect([pool.knows(call), pool.knows({ kind: 'tool', name: 'g' })]).toEqual([true, false]);
  });

  it('answers neither other arguments nor an observation of its name', () => {
    const pool = new RecordedFunctions([recordedTool('f', { a: 1 })]);
    expect(pool.match({ kind: 'tool', name: 'f', args: { a: 2 }, scope: '' })).toBeUndefined();
    expect(pool.match({ kind: 'observation', name: 'f', args: { a: 1 }, scope: '' })).toBeUndefined();
  });

  it('of the own scope goes before one of another', () => {
    const [other, here] = [recordedTool('f', {}, { scope: 's:a' }), recordedTool('f', {}, { scope: 's:b' })];
    expect(new RecordedFunctions([other, here]).match({ kind: 'tool', name: 'f', args: {}, scope: 's:b' })).toBe(here);
  });
});
