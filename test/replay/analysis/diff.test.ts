import type { ExecutionLog, ExecutionTurn } from '../../../instrumentation/schema/execution-log';
import { diffLogs } from '../../../replay/analysis/diff';

const tool = (name: string, args: unknown, result: unknown): ExecutionTurn => ({
  turnId: name,
  timestamp: '2026-01-01T00:00:00.000Z',
  type: 'tool_call',
  request: { name, args },
  response: { result },
  durationMs: 1,
});
const log = (turns: ExecutionTurn[], more: Partial<ExecutionLog> = {}): ExecutionLog => ({
  sessionId: 's',
  agentVersion: '',
  promptVersion: '',
  startedAt: '2026-01-01T00:00:00.000Z',
  turns,
  ...more,
});

test('a log equals itself, whatever its times', () => {
  const a = log([tool('a', {}, 1), tool('b', {}, 2)]);
  const b = log(a.turns.map((turn) => ({ ...turn, timestamp: '2027-01-01T00:00:00.000Z', durationMs: 99 })));
  expect(diffLogs(a, b)).toEqual({
    equal: true,
    log: [],
    turns: [
      { a: 1, b: 1, kind: 'same', changes: [] },
      { a: 2, b: 2, kind: 'same', changes: [] },
    ],
  });
});

test('a changed result is named by its path and both values', () => {
  const diff = diffLogs(log([tool('a', {}, { status: 'lost', n: 1 })]), log([tool('a', {}, { status: 'sent', n: 1 })]));
  expect(diff.equal).toBe(false);
  expect(diff.turns).toEqual([
    { a: 1, b: 1, kind: 'changed', changes: [{ path: '/response/result/status', a: 'lost', b: 'sent' }] },
  ]);
});

test('a call with changed arguments is paired with the call in its place', () => {
  const diff = diffLogs(
    log([tool('a', { x: 1 }, 1), tool('b', {}, 2)]),
    log([tool('a', { x: 2 }, 1), tool('b', {}, 2)]),
  );
  expect(diff.turns.map((turn) => turn.kind)).toEqual(['changed', 'same']);
  expect(diff.turns[0]?.changes).toEqual([{ path: '/request/args/x', a: 1, b: 2 }]);
});

test('an inserted call does not shift the calls behind it', () => {
  const diff = diffLogs(
    log([tool('a', {}, 1), tool('c', {}, 3)]),
    log([tool('a', {}, 1), tool('b', {}, 2), tool('c', {}, 3)]),
  );
  expect(diff.turns.map(({ a, b, kind }) => [a, b, kind])).toEqual([
    [1, 1, 'same'],
    [null, 2, 'inserted'],
    [2, 3, 'same'],
  ]);
});

test('two calls that changed places are a move, not a loss', () => {
  const diff = diffLogs(log([tool('a', {}, 1), tool('b', {}, 2)]), log([tool('b', {}, 2), tool('a', {}, 1)]));
  expect(diff.turns.filter((turn) => turn.kind === 'moved')).toHaveLength(1);
  expect(diff.turns.some((turn) => turn.kind === 'dropped' || turn.kind === 'inserted')).toBe(false);
  expect(diff.equal).toBe(false);
});

test('another outcome makes two logs unequal even when their turns agree', () => {
  const diff = diffLogs(
    log([tool('a', {}, 1)], { outcome: 'resolved' }),
    log([tool('a', {}, 1)], { outcome: 'escalated' }),
  );
  expect(diff.equal).toBe(false);
  expect(diff.log).toEqual([{ path: '/outcome', a: 'resolved', b: 'escalated' }]);
});

test('a key named __proto__ or constructor is compared like any other', () => {
  const a = JSON.parse('{"__proto__":{"x":1}}') as Record<string, unknown>;
  const diff = diffLogs(log([tool('a', {}, a)]), log([tool('a', {}, { constructor: 1 })]));
  expect(diff.turns[0]?.changes.map((change) => change.path)).toEqual([
    '/response/result/__proto__',
    '/response/result/constructor',
  ]);
});

test('another decision or observation makes logs unequal, another time of it does not', () => {
  const at = (year: number): string => `${year}-01-01T00:00:00.000Z`;
  const make = (year: number, to: string, stock: number): ExecutionLog =>
    log([tool('a', {}, 1)], {
      decisions: [{ timestamp: at(year), name: 'route', data: { to } }],
      observations: [{ timestamp: at(year), key: 'stock', value: stock }],
    });
  expect(diffLogs(make(2026, 'billing', 1), make(2027, 'billing', 1))).toMatchObject({ equal: true, log: [] });
  expect(diffLogs(make(2026, 'billing', 1), make(2026, 'sales', 2))).toMatchObject({
    equal: false,
    log: [
      { path: '/observations/0/value', a: 1, b: 2 },
      { path: '/decisions/0/data/to', a: 'billing', b: 'sales' },
    ],
  });
});
