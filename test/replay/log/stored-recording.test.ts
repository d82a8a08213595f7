import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { buildLogs } from '../../../replay/log/build-log';
import { parseLog, serializeLog } from '../../../replay/log/log-file';
import { mergeRecordings, recordingOf } from '../../../replay/log/recording-of-log';
import { fromStored, toStored } from '../../../replay/log/stored-recording';
import { verifyLog } from '../../../replay/log/verify-log';
import type { ExecutionLog } from '../../../instrumentation/schema/execution-log';
import type { Recording } from '../../../instrumentation/schema/records';
import { assistant, completion, SampleRun, user } from './sample-run';

const viaJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
const onlyLog = (recording: Recording): ExecutionLog => buildLogs(recording)[0] as ExecutionLog;

/** One call of every kind, with bytes that are hard to carry. */
function mixedRun(): SampleRun {
  const run = new SampleRun();
  run.session('default-session', 'start');
  run.exchange('', 'token', { kind: 'http', url: 'https://auth.example.com/token?x=1' });
  run.chat([user('héllo 🙂')], 'hi', { attributes: { 'reenact.note': 'kept' } });
  run.exchange(
    JSON.stringify({ model: 'm', messages: [user('a')] }, null, 2) + '\n',
    JSON.stringify(completion('b'), null, 2),
  );
  run.exchange({ model: 'm', messages: [user('a')] }, '', {
    noResponse: true,
    outcome: 'error',
    error: { name: 'E', message: 'm' },
  });
  run.exchange(Buffer.from([0xff, 0, 0xfe]), '', {
    kind: 'http',
    pieces: [Buffer.from('é').subarray(0, 1), Buffer.from('é🙂').subarray(1)],
  });
  run.tool('t', { when: { $reenact: 'undefined' } }, { $reenact: 'bigint', value: '1' });
  run.observe('key', [1]);
  run.decide('d', null);
  run.session('default-session', 'end', { outcome: 'resolved', metadata: { a: 1 } });
  run.exit();
  run.ambient.push({ processPath: '0', sessionId: 'default-session', lines: ['d\t\t1:2,x5', 'c\ts%3Aother\tx:AAAA'] });
  return run;
}

test('a recording comes back exactly as it was', () => {
  const recording = mixedRun().recording([{ code: 'C', message: 'm' }]);
  const stored = viaJson(toStored(recording, 'default-session'));
  expect(fromStored(stored)).toEqual(recording);
});

test('a recording comes back exactly from the log that it stands in', () => {
  const recording = mixedRun().recording();
  const log = parseLog(serializeLog(onlyLog(recording)));
  expect(recordingOf(log)).toEqual(recording);
  expect(verifyLog(log)).toEqual(recording);
});

test('times of pieces that are no whole microseconds come back exactly', () => {
  const run = new SampleRun();
  const call = run.chat([user('a')], 'b');
  const chunks = [0.1, 0.30000000000000004, 1 / 3].map((ms, seq) => ({ seq, ms, bytes: Buffer.from('x') }));
  run.calls[0] = { ...call, response: { ...call.response!, chunks } };
  expect(fromStored(viaJson(toStored(run.recording(), 'default-session')))).toEqual(run.recording());
});

test('the view for people is left out, since the bytes say the same', () => {
  const run = new SampleRun();
  run.chat([user('a')], 'b', { attributes: { 'gen_ai.request.model': 'm' } });
  expect(fromStored(toStored(run.recording(), 'default-session')).calls[0]?.attributes).toBeUndefined();
});

test('a body that no JSON writer would give is kept byte for byte', () => {
  const run = new SampleRun();
  const bodies = [
    '{"model":"m","messages":[],"a":1.0}',
    '{"a":1,"a":2,"messages":[]}',
    '{"2":1,"1":2,"messages":[]}',
    ' {"messages":[]}',
    '{"messages":["\\u0041"]}',
  ];
  for (const body of bodies) run.exchange(body, body);
  const log = parseLog(serializeLog(onlyLog(run.recording())));
  const calls = recordingOf(log).calls;
  expect(calls.map((call) => (call.kind === 'llm' ? call.request.body.toString() : ''))).toEqual(bodies);
});

test('a body with a cut UTF-8 sequence is kept byte for byte', () => {
  const run = new SampleRun();
  const body = Buffer.concat([
    Buffer.from('{"model":"m","messages":["'),
    Buffer.from('🙂').subarray(0, 3),
    Buffer.from('"]}'),
  ]);
  run.exchange(body, body);
  expect(recordingOf(parseLog(serializeLog(onlyLog(run.recording())))).calls[0]).toMatchObject({ request: { body } });
});

function longRun(turns: number, size: number): { run: SampleRun; distinct: string } {
  const run = new SampleRun();
  const history: unknown[] = [];
  let distinct = '';
  for (let turn = 0; turn < turns; turn++) {
    const text = createHash('shake256', { outputLength: size }).update(String(turn)).digest('base64').slice(0, size);
    history.push(user(text));
    run.chat([...history], `answer ${turn}`);
    distinct += text + JSON.stringify(completion(`answer ${turn}`));
    history.push(assistant(`answer ${turn}`));
  }
  return { run, distinct };
}

test('a compact log of growing requests takes at most 1.3 times its distinct bytes, both packed', () => {
  const { run, distinct } = longRun(30, 20_000);
  const line = serializeLog(onlyLog(run.recording()), { compact: true });
  expect(gzipSync(line).length).toBeLessThanOrEqual(1.3 * gzipSync(distinct).length);
});

test('a log beyond the bound is written with $same and reads back equal', () => {
  const { run } = longRun(20, 500);
  const log = onlyLog(run.recording());
  const line = serializeLog(log, { fullLimit: 10_000 });
  expect(line).toContain('"$same":{"turn":1,"count":1}');
  const read = parseLog(line);
  expect(JSON.stringify(read.turns)).toBe(JSON.stringify(log.turns));
  expect(recordingOf(read)).toEqual(run.recording());
});

describe('a log that was changed', () => {
  const change = (edit: (log: ExecutionLog) => void): ExecutionLog => {
    const log = viaJson(onlyLog(mixedRun().recording()));
    edit(log);
    return log;
  };
  const turnOf = (log: ExecutionLog, index: number) => log.turns[index]!;
  const storedCalls = (log: ExecutionLog) =>
    log.recording?.['calls'] as Record<string, Record<string, Record<string, unknown>>>[];

  test.each<[string, (log: ExecutionLog) => void]>([
    ['a response', (log) => (turnOf(log, 0).response = { forged: true })],
    ['a request', (log) => (turnOf(log, 1).request = { forged: true })],
    ['the result of a tool', (log) => (turnOf(log, 3).response = { result: 'forged' })],
    ['the number of turns', (log) => void log.turns.pop()],
    ['the order of turns', (log) => void log.turns.reverse()],
  ])('in %s is refused', (_what, edit) => {
    expect(() => verifyLog(change(edit))).toThrow(
      expect.objectContaining({ code: 'LOG_TAMPERED', hint: expect.stringContaining('--set') }),
    );
  });

  test('in stored bytes of equal length is refused as tampered', () => {
    const log = change((log) => (storedCalls(log)[0]!['response']!['body']!['data'] = 'TOKEN'));
    expect(() => verifyLog(log)).toThrow(expect.objectContaining({ code: 'LOG_TAMPERED' }));
  });

  test('by cutting stored bytes is refused as damaged, with both lengths', () => {
    const log = change((log) => (storedCalls(log)[0]!['response']!['body']!['data'] = 'tok'));
    expect(() => verifyLog(log)).toThrow(
      expect.objectContaining({ code: 'PAYLOAD_DAMAGED', message: expect.stringContaining('3 of 5 bytes') }),
    );
  });

  test.each([
    ['a kind', 'kind', '__proto__'],
    ['an outcome', 'outcome', 7],
    ['a scope', 'scope', null],
    ['a request', 'request', 'x'],
    ['a response', 'response', { status: -1 }],
  ])('to hold %s of another type is refused as invalid', (_what, field, value) => {
    const log = change((log) => (storedCalls(log)[1]![field] = value as never));
    expect(() => verifyLog(log)).toThrow(expect.objectContaining({ code: 'LOG_INVALID' }));
  });

  test('to describe far more bytes than it holds is refused before they are made', () => {
    const log = change((log) => {
      const calls = storedCalls(log);
      calls[2]!['request']!['body'] = {
        bytes: 2 ** 40,
        sha256: '',
        base: String(calls[1]!['spanId']),
        prefix: 1,
        suffix: 1,
        data: '',
      };
    });
    expect(() => verifyLog(log)).toThrow(expect.objectContaining({ code: 'LOG_INVALID' }));
  });

  test('to have keys named __proto__ pollutes nothing', () => {
    const log = change(() => undefined);
    const text = JSON.stringify(log).replaceAll('"runId":', '"__proto__":{"polluted":1},"runId":');
    const recording = recordingOf(parseLog(text));
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    expect((recording.calls[0] as unknown as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});

test('the logs of a run are put together to the run again', () => {
  const run = new SampleRun();
  run.exchange('{}', { token: 'x' }, { kind: 'http', url: 'https://auth.example.com/token' });
  for (let turn = 0; turn < 3; turn++) {
    for (const sessionId of ['one', 'two/..', '../three']) {
      if (turn === 0) run.session(sessionId, 'start');
      run.chat([user(`${sessionId} ${turn}`)], 'ok', { sessionId });
      // The piece rides on this call; its lines are of all sessions.
      run.ambient.push({
        processPath: '0',
        sessionId,
        lines: [
          'd\t\t1:2',
          ...['one', 'two/..', '../three'].map(
            (id) => `c\t${encodeURIComponent(`s:${encodeURIComponent(id)}`)}\tx:${turn}`,
          ),
        ],
      });
    }
  }
  run.exit();
  const logs = buildLogs(run.recording()).map((log) => parseLog(serializeLog(log)));
  expect(logs).toHaveLength(3);
  const merged = mergeRecordings(logs);
  const sorted = (recording: Recording) => ({
    ...recording,
    ambient: recording.ambient.map((piece) => ({ ...piece, lines: [...piece.lines].sort() })),
  });
  expect(sorted(merged)).toEqual(sorted(run.recording()));
  const one = recordingOf(logs[0]!);
  expect(one.ambient.flatMap((piece) => piece.lines).every((line) => /^d\t\t|s%3Aone/.test(line))).toBe(true);
});

test('logs of several runs are not put together', () => {
  const logs = ['r1', 'r2'].map((id) => {
    const run = new SampleRun(id);
    run.chat([user('a')], 'b');
    return onlyLog(run.recording());
  });
  expect(() => mergeRecordings(logs)).toThrow(expect.objectContaining({ code: 'REF_AMBIGUOUS' }));
});
