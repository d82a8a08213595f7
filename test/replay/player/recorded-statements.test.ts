import type { DecisionRecord, SessionRecord } from '../../../instrumentation/schema/records';
import { RecordedStatements } from '../../../replay/player/recorded-statements';
import { identity } from '../../exporter/record-samples';

let count = 0;

function decision(name: string, data: unknown, scope = ''): DecisionRecord {
  count += 1;
  return { ...identity('decision'), spanId: `d${count}`, scope, seqStart: count, seqEnd: count, decision: name, data };
}

function end(outcome?: SessionRecord['outcome'], failure?: string): SessionRecord {
  return {
    kind: 'session',
    phase: 'end',
    traceId: 't',
    spanId: 's',
    runId: 'r',
    processPath: '0',
    sessionId: 'c-1',
    scope: '',
    startMs: 0,
    endMs: 1,
    seq: 1,
    ...(outcome && { outcome }),
    ...(failure && { failure }),
  };
}

function compare(recorded: DecisionRecord[], stated: DecisionRecord[]): unknown[] {
  const statements = new RecordedStatements({ decisions: recorded, sessions: [], redactJson: (value) => value });
  for (const record of stated) statements.note(record);
  return statements
    .differences()
    .map(({ rule, name, path, expected, actual }) => ({ rule, name, path, expected, actual }));
}

test('equal decisions in equal order differ in nothing', () => {
  expect(
    compare([decision('a', { x: 1, y: 2 }), decision('b', 1)], [decision('a', { y: 2, x: 1 }), decision('b', 1)]),
  ).toEqual([]);
});

test('a decision with other data names the path and both values', () => {
  expect(compare([decision('route', { to: ['a', 'b'] })], [decision('route', { to: ['a', 'c'] })])).toEqual([
    { rule: 'decision', name: 'decision route', path: '/data/to/1', expected: 'b', actual: 'c' },
  ]);
});

test('a decision that is not made any more is named', () => {
  expect(compare([decision('a', 1), decision('b', 2)], [decision('a', 1)])).toMatchObject([
    { rule: 'decision', name: 'decision b', expected: 'decision b(2)', actual: null },
  ]);
});

test('a new decision is named with the one that was recorded in its place', () => {
  expect(compare([decision('a', 1)], [decision('new', 1), decision('a', 1)])).toMatchObject([
    { rule: 'decision', name: 'decision new', expected: 'decision a(1)' },
  ]);
});

test('another order is a difference, but not across scopes', () => {
  expect(compare([decision('a', 1), decision('b', 2)], [decision('b', 2), decision('a', 1)])).toMatchObject([
    { rule: 'decision-order', name: 'decision b' },
  ]);
  expect(
    compare([decision('a', 1, 'x'), decision('b', 2, 'y')], [decision('b', 2, 'y'), decision('a', 1, 'x')]),
  ).toEqual([]);
});

test('data is compared as it was recorded, redacted', () => {
  const statements = new RecordedStatements({
    decisions: [decision('a', { key: '[gone]' })],
    sessions: [],
    redactJson: () => ({ key: '[gone]' }),
  });
  statements.note(decision('a', { key: 'secret' }));
  expect(statements.differences()).toEqual([]);
});

test.each([
  ['resolved', undefined, 'resolved', undefined, []],
  [undefined, 'out of memory at 12:00', undefined, 'out of memory at 12:01', []],
  ['resolved', undefined, 'escalated', undefined, [{ path: '/outcome', expected: 'resolved', actual: 'escalated' }]],
  ['resolved', undefined, undefined, undefined, [{ path: '/outcome', expected: 'resolved', actual: null }]],
  [undefined, undefined, undefined, 'boom', [{ path: '/failed', expected: false, actual: true }]],
] as const)('recorded outcome %s %s, replayed %s %s', (was, failure, is, failed, expected) => {
  const statements = new RecordedStatements({
    decisions: [],
    sessions: [end(was, failure)],
    redactJson: (value) => value,
  });
  statements.sessionEnded(end());
  statements.sessionEnded(end(is, failed));
  expect(statements.differences()).toMatchObject(expected);
});

test('a session whose end was not recorded is not compared', () => {
  const sessions = [{ ...end('resolved'), phase: 'start' as const }];
  const statements = new RecordedStatements({ decisions: [], sessions, redactJson: (value) => value });
  statements.sessionEnded(end('escalated'));
  expect(statements.differences()).toEqual([]);
});
