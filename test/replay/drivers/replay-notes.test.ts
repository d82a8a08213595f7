import { replayNotes } from '../../../replay/drivers/replay-notes';
import type { ExecutionLog } from '../../../instrumentation/schema/execution-log';
import type { ProcessReport } from '../../../replay/player/report';

const turn = (name: string, inferred: boolean): ExecutionLog['turns'][number] => ({
  turnId: 't',
  timestamp: '2026-12-01T00:00:00.000Z',
  type: 'tool_call',
  request: { name, args: {} },
  response: {},
  durationMs: 1,
  ...(inferred && { inferred: true as const }),
});
const log = (...turns: ExecutionLog['turns']): ExecutionLog => ({
  sessionId: 's',
  agentVersion: '',
  promptVersion: '',
  startedAt: '2026-12-01T00:00:00.000Z',
  turns,
});
const report = (...unusedOverrides: string[]): ProcessReport => ({
  processPath: '0',
  runId: 'r',
  sessionIds: ['s'],
  used: {},
  diverged: 0,
  live: 0,
  blocked: 0,
  divergences: [],
  stdout: null,
  unusedOverrides,
});

test('tools that ran for real are named', () => {
  const logs = [log(turn('refund', true), turn('look', false), turn('refund', true))];
  expect(replayNotes(logs, [report()])).toEqual([
    '2 tool calls of the recording (refund) came from the messages only: a replay runs such tools for real. Declare them in reenact.config.json.',
  ]);
});

test('a change that no process came to is named, with the tools there are', () => {
  const logs = [log(turn('refund', false))];
  const reports = [report('tool:refnd={"a":1}', '2="x"'), report('tool:refnd={"a":1}')];
  expect(replayNotes(logs, reports)).toEqual(['--set tool:refnd answered no call; tools of the conversation: refund']);
});

test('a replay of which nothing is to be said has no notes', () => {
  expect(replayNotes([log(turn('refund', false))], [report()])).toEqual([]);
});
