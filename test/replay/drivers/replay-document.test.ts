import type { CallRecord, Recording } from '../../../instrumentation/schema/records';
import { buildReplayDocument, replayExitCode, summaryLine } from '../../../replay/drivers/replay-document';
import { countedCalls } from '../../../replay/player/counted-calls';
import type { ReplayFacts } from '../../../replay/drivers/replay-document';
import type { ProcessReport } from '../../../replay/player/report';

let next = 0;
const call = (fields: Partial<CallRecord> & { kind: CallRecord['kind'] }): CallRecord =>
  ({
    spanId: `span${++next}`,
    traceId: 't',
    runId: 'r',
    processPath: '0',
    sessionId: 's',
    scope: '',
    seqStart: next,
    seqEnd: next,
    startMs: 0,
    endMs: 0,
    outcome: 'ok',
    name: '',
    ...fields,
  }) as CallRecord;
const tool = (name: string, more: object = {}): CallRecord =>
  call({ kind: 'tool', tool: name, args: {}, synchronous: false, replay: 'substitute', ...more });
const http = (scope = ''): CallRecord =>
  call({
    kind: 'http',
    scope,
    request: { method: 'GET', url: 'http://a/', headers: [], body: Buffer.alloc(0) },
  } as never);

const stdout = { sha256: 'aa', bytes: 1 };
function facts(calls: CallRecord[], report: Partial<ProcessReport> = {}, more: Partial<ReplayFacts> = {}): ReplayFacts {
  const exit = { kind: 'exit', processPath: '0', exitCode: 0, calls: calls.length, stdout };
  return {
    ref: 'last',
    runId: 'replay',
    logs: [],
    recording: {
      runId: 'r',
      calls,
      exits: [exit],
      processes: [],
      sessions: [],
      ambient: [],
      gaps: [],
      formatVersion: '1',
    } as unknown as Recording,
    reports: [
      {
        processPath: '0',
        runId: 'replay',
        sessionIds: [],
        used: {},
        diverged: 0,
        live: 0,
        blocked: 0,
        divergences: [],
        stdout,
        ...report,
      },
    ],
    exitCode: 0,
    stdoutComparable: true,
    replayLogs: [],
    ...more,
  };
}
const exactly = (calls: CallRecord[]): Partial<ProcessReport> => ({
  used: Object.fromEntries(calls.map((item) => [item.spanId, 'exact'])),
});
const asked = { overrides: [], onDivergence: 'fail' } as const;

test('every call exact, same output and exit code: faithful', () => {
  const calls = [http(), tool('a')];
  const document = buildReplayDocument(facts(calls, exactly(calls)));
  expect(document).toMatchObject({ total: 2, replayed: 2, exact: 2, unused: 0, faithful: true });
  expect(summaryLine(document)).toBe(
    'reenact: replayed 2/2 exact=2 relaxed=0 overridden=0 diverged=0 live=0 unused=0 blocked=0 gaps=0',
  );
  expect(replayExitCode(document, asked)).toBe(0);
});

test('what a substituted tool did inside is not counted, what a tool that runs did is', () => {
  const inside = http('t:get%20order#1');
  const ran = http('t:pure#1');
  const calls = [tool('get order'), inside, tool('pure', { replay: 'run' }), ran, call({ kind: 'decision' })];
  expect(countedCalls(calls)).toEqual([calls[0], calls[2], ran]);
});

test('a tool whose name begins alike does not hide the calls of another', () => {
  const calls = [tool('get'), http('t:get_all#1')];
  expect(countedCalls(calls)).toHaveLength(2);
});

test('a call that was never asked is unused, explained, and not faithful', () => {
  const calls = [http(), tool('a')];
  const document = buildReplayDocument(facts(calls, exactly(calls.slice(0, 1))));
  expect(document).toMatchObject({ unused: 1, faithful: false });
  expect(document.divergences).toMatchObject([{ kind: 'unused', name: 'tool a' }]);
  expect(replayExitCode(document, asked)).toBe(1);
});

test('another output or exit code is not faithful although every call is exact', () => {
  const calls = [http()];
  const other = buildReplayDocument(facts(calls, { ...exactly(calls), stdout: { sha256: 'bb', bytes: 1 } }));
  expect(other).toMatchObject({ exact: 1, faithful: false, program: { stdoutEqual: false } });
  const failed = buildReplayDocument(facts(calls, exactly(calls), { exitCode: 1 }));
  expect(failed).toMatchObject({ faithful: false, program: { exitCode: 1, recordedExitCode: 0 } });
});

test('output and exit code of a part of the run are not compared with those of the whole', () => {
  const calls = [http()];
  const part = buildReplayDocument(facts(calls, { ...exactly(calls), stdout: null }, { stdoutComparable: false }));
  expect(part).toMatchObject({ faithful: true, program: { stdoutEqual: null, recordedExitCode: null } });
});

test('with an override the exit code is 0 when the program ran to its end and nothing diverged', () => {
  const calls = [tool('a'), http()];
  const used = { used: { [calls[0]!.spanId]: 'overridden' } } as const;
  const whatIf = { overrides: ['1=2'], onDivergence: 'fail' } as const;
  expect(replayExitCode(buildReplayDocument(facts(calls, used)), whatIf)).toBe(0);
  expect(replayExitCode(buildReplayDocument(facts(calls, { ...used, diverged: 1 })), whatIf)).toBe(1);
  expect(replayExitCode(buildReplayDocument(facts(calls, used, { exitCode: 1 })), whatIf)).toBe(1);
});

test('at most 50 unused calls are named, all are counted', () => {
  const document = buildReplayDocument(facts(Array.from({ length: 60 }, () => http())));
  expect(document.unused).toBe(60);
  expect(document.divergences).toHaveLength(50);
});
