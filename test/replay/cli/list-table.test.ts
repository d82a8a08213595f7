import { listTable, tableOf } from '../../../replay/cli/commands/list';
import type { ListRow } from '../../../replay/log/list';

const row = (fields: Partial<ListRow>): ListRow => ({
  sessionId: '20261201-045925-e4e41741',
  runId: '20261201-045925-e4e41741',
  traceIds: [],
  agentId: '',
  agentVersion: '',
  promptVersion: '',
  outcome: null,
  startedAt: '2026-12-01T04:59:29.123Z',
  durationMs: 3_599_000,
  turns: 12,
  llmCalls: 6,
  toolCalls: 6,
  gaps: 0,
  ...fields,
});

const LONG = 'conversation/'.repeat(5);
const ROWS = [
  row({}),
  row({ sessionId: 'c7', outcome: 'escalated', agentVersion: '1.4.0-rc.1+build', promptVersion: 'v2', gaps: 123 }),
  row({ sessionId: LONG }),
  row({ sessionId: '顧客との会話', turns: 3 }),
];

/** Columns of the characters used here. */
const width = (line: string): number => [...line].reduce((sum, c) => sum + (c.codePointAt(0)! > 0x2e7f ? 2 : 1), 0);

test('fits 80 columns with ids, versions and gaps of any length', () => {
  for (const line of listTable(ROWS).split('\n')) expect(width(line)).toBeLessThanOrEqual(80);
});

test('writes ids of sessions and runs whole, so that they can be copied', () => {
  const text = listTable(ROWS);
  for (const id of [LONG, 'c7', '20261201-045925-e4e41741', '顧客との会話']) expect(text).toContain(id);
  expect(text.match(/run 20261201-045925-e4e41741/g)).toHaveLength(3);
});

test('puts a conversation that is its own run on one line', () => {
  expect(listTable([row({})])).toBe(
    'SESSION                   STARTED (UTC)     DURATION     TURNS  OUTCOME  VERSION\n' +
      '20261201-045925-e4e41741  2026-12-01 04:59  59 min 59 s  12     -        -\n',
  );
});

test('shows replays only when asked, and says how many there are', () => {
  const rows = [row({}), row({ runId: 'r2', replayOf: 'x' }), row({ runId: 'r3', replayOf: 'x' })];
  expect(tableOf(rows, false)).toBe(`${listTable([row({})])}and 2 replays, shown with --all\n`);
  expect(tableOf(rows, true).match(/ replay /g)).toHaveLength(2);
  expect(tableOf(rows.slice(1), false)).toBe('Nothing but replays is here: 2 replays, shown with --all\n');
  expect(tableOf([], false)).toBe('Nothing is recorded here.\n');
});

test('shows a conversation that was marked as failed as such', () => {
  expect(listTable([row({ outcome: 'resolved', failure: 'wrong answer' })])).toMatch(/ 12 +failed /);
});
