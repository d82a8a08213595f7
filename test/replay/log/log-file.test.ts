import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { buildLogs } from '../../../replay/log/build-log';
import { readLogs, serializeLog, toDocument, writeLogs } from '../../../replay/log/log-file';
import type { ExecutionLog } from '../../../instrumentation/schema/execution-log';
import { SampleRun, user } from './sample-run';

const folder = mkdtempSync(join(tmpdir(), 'reenact-log-file-'));
const write = (name: string, content: string | Buffer): string => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};
const code = (value: string) => expect.objectContaining({ code: value });

/** A log as a person would write it, without recorded bytes. */
const handWritten = (over: object = {}): ExecutionLog => ({
  sessionId: 's',
  agentVersion: '',
  promptVersion: '',
  startedAt: '2026-01-01T00:00:00Z',
  turns: [
    {
      turnId: 't',
      timestamp: '2026-01-01T00:00:00Z',
      type: 'tool_call',
      request: { name: 'x', args: {} },
      response: { result: 1 },
      durationMs: 0,
    },
  ],
  ...over,
});

function recordedLog(): ExecutionLog {
  const run = new SampleRun();
  run.chat([user('a')], 'b');
  return buildLogs(run.recording())[0] as ExecutionLog;
}

test.each(['a.jsonl', 'a.jsonl.gz'])('logs written to %s are read back equal', async (name) => {
  const logs = [recordedLog(), handWritten()];
  await writeLogs(join(folder, name), logs);
  expect(await readLogs(join(folder, name))).toEqual(JSON.parse(JSON.stringify(logs)));
  expect(readFileSync(join(folder, name))[0]).toBe(name.endsWith('.gz') ? 0x1f : '{'.charCodeAt(0));
});

test('packed content is read whatever the name of the file', async () => {
  const path = write('packed.jsonl', gzipSync(serializeLog(handWritten())));
  expect(await readLogs(path)).toHaveLength(1);
});

test.each<[string, string | Buffer, string, RegExp]>([
  ['empty', '', 'LOG_EMPTY', /is empty/],
  ['blank lines', '\n\n  \n', 'LOG_EMPTY', /is empty/],
  ['cut JSON', serializeLog(handWritten()).slice(0, 90), 'LOG_INVALID', /:1 is not JSON/],
  ['not a log', '{"a":1}\n', 'LOG_INVALID', /sessionId must be a string/],
  ['an array', '[]\n', 'LOG_INVALID', /is not a JSON object/],
  ['null', 'null\n', 'LOG_INVALID', /is not a JSON object/],
  ['binary', Buffer.from([0, 255, 1, 254]), 'LOG_INVALID', /is not JSON/],
  [
    'no turns',
    '{"__proto__":{"x":1},"sessionId":"__proto__","startedAt":"2026-01-01T00:00:00Z","turns":"no"}\n',
    'LOG_INVALID',
    /turns must be an array/,
  ],
  ['a second line that is broken', `${serializeLog(handWritten())}\n{"sessionId":1}\n`, 'LOG_INVALID', /:2\.sessionId/],
  [
    'a turn of another kind',
    serializeLog(handWritten({ turns: [{ ...handWritten().turns[0], type: 'x' }] })),
    'LOG_INVALID',
    /turns\[0\]\.type must be one of/,
  ],
  ['no time', serializeLog(handWritten({ startedAt: 'noon' })), 'LOG_INVALID', /startedAt/],
  [
    'another version',
    serializeLog(handWritten({ recording: { formatVersion: '99' } })),
    'LOG_VERSION_UNSUPPORTED',
    /"99"/,
  ],
  [
    'deep nesting',
    serializeLog(handWritten()).replace('"args":{}', `"args":${'['.repeat(2000)}${']'.repeat(2000)}`),
    'LOG_INVALID',
    /nests deeper/,
  ],
  ['damaged gzip', gzipSync(serializeLog(handWritten())).subarray(0, 60), 'LOG_INVALID', /damaged gzip/],
])('a file that holds %s is refused', async (name, content, expected, message) => {
  const path = write(`${name.replace(/\W/g, '-')}.jsonl`, content);
  await expect(readLogs(path)).rejects.toThrow(code(expected));
  await expect(readLogs(path)).rejects.toThrow(message);
});

test.each([
  ['to a later turn', [{ $same: { turn: 2, count: 1 } }]],
  ['to itself', [{ $same: { turn: 1, count: 1 } }]],
  ['to a turn without messages', [{ $same: { turn: 3, count: 1 } }]],
  ['with a count that is no count', [{ $same: { turn: 1, count: -1 } }]],
])('a $same %s is refused', async (name, messages) => {
  const turn = { ...handWritten().turns[0], type: 'llm_call', request: { messages } };
  const path = write(`same-${name.replace(/\W/g, '-')}.jsonl`, serializeLog(handWritten({ turns: [turn] })));
  await expect(readLogs(path)).rejects.toThrow(code('LOG_INVALID'));
});

test('$same of $same cannot make a small file fill the memory', async () => {
  const turns = Array.from({ length: 60 }, (_, index) => ({
    ...handWritten().turns[0],
    type: 'llm_call',
    request: {
      messages: index === 0 ? Array.from({ length: 1e5 }, () => 1) : [{ $same: { turn: index, count: 1e5 } }, 2],
    },
  }));
  const many = Array.from({ length: 5 }, () => turns).flat();
  const path = write('bomb.jsonl', serializeLog(handWritten({ turns: many })));
  await expect(readLogs(path)).rejects.toThrow(/stands for more than/);
});

test('a message of the program that looks like the mark stays a message', async () => {
  const message = { $same: { turn: 1, count: 1 } };
  const turn = { ...handWritten().turns[0]!, type: 'llm_call' as const, request: { messages: [message] } };
  await writeLogs(join(folder, 'mark.jsonl'), [handWritten({ turns: [turn] })], { compact: true });
  expect((await readLogs(join(folder, 'mark.jsonl')))[0]?.turns[0]?.request).toEqual({ messages: [message] });
});

test('a missing file and a folder are named', async () => {
  await expect(readLogs(join(folder, 'none.jsonl'))).rejects.toThrow(code('FILE_NOT_FOUND'));
  await expect(readLogs(folder)).rejects.toThrow(code('FILE_NOT_FOUND'));
});

test('an existing file is left alone unless the caller says to replace it', async () => {
  const path = write('kept.jsonl', 'mine');
  await expect(writeLogs(path, [handWritten()])).rejects.toThrow(code('FILE_EXISTS'));
  expect(readFileSync(path, 'utf8')).toBe('mine');
  await writeLogs(path, [handWritten()], { replace: true });
  expect(await readLogs(path)).toHaveLength(1);
});

test('a folder is never written over', async () => {
  mkdirSync(join(folder, 'dir.jsonl'));
  await expect(writeLogs(join(folder, 'dir.jsonl'), [], { replace: true })).rejects.toThrow(code('FILE_EXISTS'));
});

test('a write that fails midway leaves neither a half file nor a temporary one', async () => {
  const broken = (function* () {
    yield handWritten();
    throw new Error('midway');
  })();
  await expect(writeLogs(join(folder, 'half.jsonl'), broken)).rejects.toThrow('midway');
  expect(existsSync(join(folder, 'half.jsonl'))).toBe(false);
  expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([]);
});

test('a folder that does not exist is named', async () => {
  await expect(writeLogs(join(folder, 'no', 'x.jsonl'), [handWritten()])).rejects.toThrow(code('FILE_NOT_WRITABLE'));
});

test('the document of a small log is the log itself', () => {
  const log = handWritten();
  expect(toDocument(log)).toBe(log);
});
