import type { ExecutionLog } from '../../../instrumentation/schema/execution-log';
import { overriddenExchange } from '../../../replay/player/overridden-exchange';
import { applyOverride, resolveOverrides } from '../../../replay/player/overrides';
import type { Override } from '../../../replay/player/overrides';
import { ask, recorded } from './samples';

const set = (pointer: string, value: unknown): Override => ({ text: `1${pointer}`, pointer, value, isText: false });

describe('an override', () => {
  it.each<[pointer: string, value: unknown, expected: unknown]>([
    ['', 'whole', 'whole'],
    ['/status', 'lost', { status: 'lost', items: [1, 2] }],
    ['/items/1', 9, { status: 'ok', items: [1, 9] }],
    ['/items/-', 3, { status: 'ok', items: [1, 2, 3] }],
    ['/new', null, { status: 'ok', items: [1, 2], new: null }],
  ])('at %j to %j', (pointer, value, expected) => {
    const answer = { status: 'ok', items: [1, 2] };
    expect(applyOverride(set(pointer, value), answer)).toEqual(expected);
    expect(answer).toEqual({ status: 'ok', items: [1, 2] });
  });

  it('at a place that does not exist is refused by its name', () => {
    for (const [pointer, answer] of [
      ['/a/b', {}],
      ['/a/b', undefined],
      ['/status/x', { status: 1 }],
      ['/x', 'text'],
    ] as const)
      // prettier-ignore
      expect(() => applyOverride(set(pointer, 1), answer)).toThrow(expect.objectContaining({ code: 'SET_INVALID' }));
  });

  it('reaches no prototype', () => {
    const changed = applyOverride(set('/__proto__', { polluted: 1 }), {}) as object;
    expect(Object.hasOwn(changed, '__proto__')).toBe(true);
    expect(() => applyOverride(set('/__proto__/polluted', 1), {})).toThrow();
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});

describe('overrides of a log', () => {
  const turn = (turnId: string, type: 'llm_call' | 'tool_call', request: Record<string, unknown>, spanIds: string[]) => ({ turnId, timestamp: '', type, request, response: {}, durationMs: 0, spanIds }); // prettier-ignore
  const log: ExecutionLog = {
    sessionId: 's',
    agentVersion: '',
    promptVersion: '',
    startedAt: '',
    turns: [
      turn('t1', 'llm_call', {}, ['first-try', 'second-try']),
      turn('t2', 'tool_call', { name: 'get_order' }, ['order-1']),
      turn('t3', 'tool_call', { name: 'get_order' }, ['order-2']),
    ],
  };

  it('find turns by number, by name and ordinal, and every call of a tool', () => {
    const { bySpan, byTool } = resolveOverrides(['2="a"', 'tool:get_order#2/x=1', 'llm#1=text of it', 'tool:refund={}'], [log]); // prettier-ignore
    expect(
      [...bySpan].map(([spanId, { turn: number, override }]) => [spanId, number, override.pointer, override.value]),
    ).toEqual([
      // prettier-ignore
      ['order-1', 2, '', 'a'],
      ['order-2', 3, '/x', 1],
      ['second-try', 1, '', 'text of it'],
    ]);
    expect(byTool.get('refund')).toMatchObject({ value: {} });
  });

  it.each(['9=1', 'tool:get_order#3=1', 'llm#2=x'])('refuse %s: there is no such turn', (text) => {
    expect(() => resolveOverrides([text], [log])).toThrow(expect.objectContaining({ code: 'TURN_NOT_FOUND' }));
  });

  it.each(['nonsense', '=1', 'order=1', '2={', '0x=1'])('refuse %s', (text) => {
    expect(() => resolveOverrides([text], [log])).toThrow(expect.objectContaining({ code: 'SET_INVALID' }));
  });
});

describe('the overridden answer of a model', () => {
  const events = (chunks: readonly { bytes: Buffer }[]): string => Buffer.concat(chunks.map(({ bytes }) => bytes)).toString(); // prettier-ignore
  const body = (text: string) => ({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: text, refusal: null } }] }); // prettier-ignore

  it('stays a stream when the program asked for one, without headers of the old bytes', () => {
    const record = recorded(ask('x', { stream: true }));
    const { response, outcome } = overriddenExchange({ ...record, outcome: 'cut' }, { ...set('', 'new text'), isText: true }); // prettier-ignore
    expect(outcome).toBe('ok');
    expect(events(response?.chunks ?? [])).toMatch(/^data: [\s\S]*new text[\s\S]*data: \[DONE\]\n\n$/);
    const names = response?.headers.map(([name]) => name.toLowerCase()) ?? [];
    expect(names.filter((name) => name === 'content-length')).toEqual([]);
    expect(names.filter((name) => name === 'content-type')).toHaveLength(1);
  });

  it('stays a body when the program asked for one, and takes a pointer', () => {
    const bytes = Buffer.from(JSON.stringify(body('old')));
    const record = recorded(ask('x'));
    const response = { ...record.response, status: 200, statusText: 'OK', headers: [['content-type', 'application/json']], headSeq: 1, headMs: 0, trailers: [], chunks: [{ seq: 2, ms: 0, bytes }] } as const; // prettier-ignore
    const changed = overriddenExchange({ ...record, response }, set('/choices/0/message/content', 'new'));
    expect(JSON.parse(events(changed.response?.chunks ?? []))).toMatchObject(body('new'));
  });

  it('of no known provider is refused', () => {
    const record = recorded({ method: 'GET', url: 'http://a/b', headers: [], body: Buffer.alloc(0) });
    expect(() => overriddenExchange(record, set('', {}))).toThrow(expect.objectContaining({ code: 'SET_INVALID' }));
  });
});
