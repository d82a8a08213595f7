import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listLogs, readRunRows } from '../../../replay/log/list';
import { serializeLog } from '../../../replay/log/log-file';
import { requireOne, resolveRef } from '../../../replay/log/resolve-ref';
import { localSource } from '../../../replay/sources/local';
import { emptyStore, writeStore } from '../sources/store-samples';
import { SampleRun, user } from './sample-run';

const code = (value: string) => expect.objectContaining({ code: value });

/** A run with the given sessions, a given number of milliseconds after the first one. */
function runOf(
  runId: string,
  sessions: string[],
  { later = 0, replayOf }: { later?: number; replayOf?: string } = {},
): SampleRun {
  const run = new SampleRun(runId, `${runId}-default`);
  const startMs = Date.UTC(2026, 0, 2) + later;
  run.processes[0] = { ...run.processes[0]!, startMs, ...(replayOf !== undefined && { replayOf }) };
  for (const sessionId of sessions) {
    run.session(sessionId, 'start');
    run.chat([user(sessionId)], `${runId} ${sessionId}`, { sessionId });
  }
  run.exit();
  return run;
}

const store = writeStore(
  emptyStore(),
  runOf('run-a', ['one', '../two', 'a#b@c']),
  runOf('run-b', ['one', 'solo'], { later: 1000 }),
  runOf('run-c', ['last-of-all'], { later: 2000 }),
  runOf('run-d', [], { later: 3000 }),
  runOf('run-r', ['solo', 'made-in-replay'], { later: 4000, replayOf: 'solo' }),
);
const resolve = async (ref: string) =>
  (await resolveRef(ref, { store })).logs.map((log) => `${log.runId}:${log.sessionId}`);

test.each([
  ['a session id', 'solo', ['run-b:solo']],
  ['a session id that looks like a path', '../two', ['run-a:../two']],
  ['a session id with @ and #', 'a#b@c', ['run-a:a#b@c']],
  ['a run id', 'run-b', ['run-b:one', 'run-b:solo']],
  ['the run id of a replay', 'run-r', ['run-r:solo', 'run-r:made-in-replay']],
  ['a session that only a replay has', 'made-in-replay', ['run-r:made-in-replay']],
  ['a session of one run', 'one@run-a', ['run-a:one']],
  ['a session with @ of one run', 'a#b@c@run-a', ['run-a:a#b@c']],
  ['last: the newest run with calls that is no replay', 'last', ['run-c:last-of-all']],
])('%s is found', async (_what, ref, expected) => {
  expect(await resolve(ref)).toEqual(expected);
});

test('a trace id names its session, that of a process all of them', async () => {
  const run = runOf('run-b', ['one', 'solo']);
  expect(await resolve(run.calls[1]!.traceId)).toEqual(['run-b:solo']);
  expect(await resolve(run.processes[0]!.traceId)).toEqual(['run-b:one', 'run-b:solo']);
});

test('a session of several runs is refused with the names that tell them apart', async () => {
  await expect(resolve('one')).rejects.toThrow(code('REF_AMBIGUOUS'));
  await expect(resolve('one')).rejects.toThrow(/one@run-a, one@run-b/);
});

test.each(['nothing', 'one@run-x', 'x@run-a', '', '__proto__', '/etc/passwd-not-there'])(
  '%j is not found',
  async (ref) => {
    await expect(resolve(ref)).rejects.toThrow(code('REF_NOT_FOUND'));
  },
);

test('nothing is found in a store that does not exist', async () => {
  await expect(resolveRef('last', { store: emptyStore() })).rejects.toThrow(code('REF_NOT_FOUND'));
});

test('a run without calls is found and has none', async () => {
  await expect(resolve('run-d')).rejects.toThrow(code('LOG_HAS_NO_CALLS'));
});

test('only logs of the local store are of origin store', async () => {
  expect((await resolveRef('solo', { store })).origin).toBe('store');
  expect((await resolveRef('solo', { store, from: 'local' })).origin).toBe('store');
  const from = `otlp=${join(store, 'runs', 'run-b')}`;
  const found = await resolveRef('solo', { store: emptyStore(), from });
  expect([found.origin, found.logs.length]).toEqual(['file', 1]);
});

test.each(['nowhere=1', 'jaeger', 'otlp=', 'jaeger=ftp://x'])('source %s is refused', async (from) => {
  await expect(resolveRef('x', { store, from })).rejects.toThrow(code('UNKNOWN_SOURCE'));
});

describe('a file of several logs', () => {
  const path = join(mkdtempSync(join(tmpdir(), 'reenact-ref-')), 'logs.jsonl');
  beforeAll(async () => {
    const { logs } = await resolveRef('run-a', { store });
    writeFileSync(path, [...logs, ...logs.slice(0, 1)].map((log) => serializeLog(log)).join('\n'));
  });

  test.each([
    ['', ['one', '../two', 'a#b@c', 'one']],
    ['#2', ['../two']],
    ['#../two', ['../two']],
    ['#a#b@c', ['a#b@c']],
  ])('with %j gives the logs named', async (part, expected) => {
    const found = await resolveRef(path + part, { store });
    expect(found.logs.map((log) => log.sessionId)).toEqual(expected);
    expect([found.origin, found.path]).toEqual(['file', path]);
  });

  test('and a position or session that it has not is refused', async () => {
    await expect(resolveRef(`${path}#9`, { store })).rejects.toThrow(code('REF_NOT_FOUND'));
    await expect(resolveRef(`${path}#0`, { store })).rejects.toThrow(code('REF_NOT_FOUND'));
    await expect(resolveRef(`${path}#one`, { store })).rejects.toThrow(/#1, #4/);
  });

  test('and one that was changed is refused', async () => {
    const { logs } = await resolveRef(path, { store });
    const changed = JSON.parse(serializeLog(logs[0]!)) as { turns: { response: unknown }[] };
    changed.turns[0]!.response = { forged: true };
    writeFileSync(`${path}.changed.jsonl`, JSON.stringify(changed));
    await expect(resolveRef(`${path}.changed.jsonl`, { store })).rejects.toThrow(code('LOG_TAMPERED'));
  });
});

test('one log is required by name when there are several', async () => {
  const { logs } = await resolveRef('run-b', { store });
  expect(() => requireOne(logs)).toThrow(/one, solo/);
  expect(() => requireOne([])).toThrow(code('LOG_HAS_NO_CALLS'));
  expect(requireOne(logs.slice(0, 1)).sessionId).toBe('one');
});

test('ids with control characters are listed harmlessly', () => {
  const log = { sessionId: '\u001b[31mred', agentVersion: '', promptVersion: '', startedAt: '', turns: [] };
  let message = '';
  try {
    requireOne([log, log]);
  } catch (error) {
    message = (error as Error).message;
  }
  expect(message).toContain('red');
  expect(message).not.toContain('\u001b');
});

test('the list holds every session with calls, with its counts', async () => {
  const rows = await listLogs(localSource(store));
  expect(rows.map((row) => row.sessionId).sort()).toEqual(
    ['one', 'one', '../two', 'a#b@c', 'solo', 'solo', 'last-of-all', 'made-in-replay'].sort(),
  );
  expect(rows.find((row) => row.runId === 'run-c')).toEqual({
    sessionId: 'last-of-all',
    runId: 'run-c',
    traceIds: [expect.stringMatching(/^[0-9a-f]{32}$/)],
    agentId: '',
    agentVersion: '',
    promptVersion: '',
    startedAt: '2026-01-02T03:04:05.001Z',
    durationMs: expect.any(Number),
    turns: 1,
    llmCalls: 1,
    toolCalls: 0,
    outcome: null,
    gaps: 0,
  });
  expect(await readRunRows(store, 'run-c')).toEqual(rows.filter((row) => row.runId === 'run-c'));
});
