import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { OtlpRequest } from '../../../exporter/otlp';
import { loadOtlpProto } from '../../../exporter/otlp-proto';
import { createEncoderState, encodeRecord } from '../../../exporter/span-encoder';
import { buildLogs } from '../../../replay/log/build-log';
import { otlpFileSource } from '../../../replay/sources/otlp-file';
import { localSource } from '../../../replay/sources/local';
import { SampleRun, user } from '../log/sample-run';
import { emptyStore, writeStore } from './store-samples';

const folder = mkdtempSync(join(tmpdir(), 'reenact-otlp-'));
const code = (value: string) => expect.objectContaining({ code: value });

function runOf(runId: string): SampleRun {
  const run = new SampleRun(runId);
  run.chat([user(`hello ${runId}`)], 'hi', { sessionId: `s-${runId}` });
  run.exit();
  return run;
}

function documents(run: SampleRun): object[] {
  const state = createEncoderState();
  return run.records().map((record) => ({
    resourceSpans: [
      {
        resource: { attributes: [] },
        scopeSpans: [{ scope: { name: 'reenact' }, spans: [encodeRecord(record, state)] }],
      },
    ],
  }));
}

const lines = (...runs: SampleRun[]): string =>
  runs
    .flatMap(documents)
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('');
const write = (name: string, content: string | Buffer): string => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};
async function sessions(path: string): Promise<string[]> {
  const found: string[] = [];
  for await (const recording of otlpFileSource(path).list())
    found.push(...buildLogs(recording).map((log) => log.sessionId));
  return found.sort();
}

test.each<[string, string | Buffer]>([
  ['lines.jsonl', lines(runOf('a'), runOf('b'))],
  ['packed.jsonl.gz', gzipSync(lines(runOf('a'), runOf('b')))],
  [
    'spread.json',
    JSON.stringify(
      {
        resourceSpans: [...documents(runOf('a')), ...documents(runOf('b'))].flatMap(
          (item) => (item as { resourceSpans: object[] }).resourceSpans,
        ),
      },
      null,
      2,
    ),
  ],
  ['wrapped.json', JSON.stringify({ result: documents(runOf('a'))[0] }) + '\n' + lines(runOf('a'), runOf('b'))],
])('%s gives its runs', async (name, content) => {
  expect(await sessions(write(name, content))).toEqual(['s-a', 's-b']);
});

test('a run that is spread over the files of a folder is put together', async () => {
  const all = lines(runOf('a')).trimEnd().split('\n');
  mkdirSync(join(folder, 'rotated', 'deep'), { recursive: true });
  write('rotated/traces-2026-01-01.jsonl', `${all[2]}\n${all[0]}\n`);
  write('rotated/deep/traces.jsonl.gz', gzipSync(`${all[1]}\n${all[0]}\n`));
  write('rotated/readme.txt', 'not for reading');
  const [run, ...others] = await otlpFileSource(join(folder, 'rotated')).fetch('s-a');
  expect(run).toEqual(runOf('a').recording());
  expect(others).toEqual([]);
});

test('spans of others in the file are left out', async () => {
  const foreign = {
    resourceSpans: [{ scopeSpans: [{ spans: [{ traceId: 'f'.repeat(32), spanId: '1'.repeat(16), name: 'GET /' }] }] }],
  };
  expect(await sessions(write('foreign.jsonl', `${JSON.stringify(foreign)}\n${lines(runOf('a'))}`))).toEqual(['s-a']);
});

test('a line that is no JSON is named', async () => {
  const path = write('cut.jsonl', `${lines(runOf('a'))}{"resourceSpans":[`);
  await expect(sessions(path)).rejects.toThrow(code('LOG_INVALID'));
  await expect(sessions(path)).rejects.toThrow(/cut\.jsonl:4/);
});

const framed = (messages: readonly Uint8Array[]): Buffer =>
  Buffer.concat(
    messages.flatMap((message) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(message.length);
      return [length, Buffer.from(message)];
    }),
  );

test.each([
  ['protobuf', (document: object) => loadOtlpProto().encodeRequest(document as OtlpRequest)],
  ['JSON', (document: object) => Buffer.from(JSON.stringify(document))],
])('length-prefixed messages of %s are read, packed too', async (name, encode) => {
  const content = framed([...documents(runOf('a')), ...documents(runOf('b'))].map(encode));
  expect(await sessions(write(`${name}.pb`, content))).toEqual(['s-a', 's-b']);
  expect(await sessions(write(`${name}.pb.gz`, gzipSync(content)))).toEqual(['s-a', 's-b']);
  await expect(sessions(write(`cut-${name}.pb`, content.subarray(0, -3)))).rejects.toThrow(/middle of a message/);
});

test('zstd is named, with what to do', async () => {
  const path = write('z.jsonl', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0, 0, 0]));
  await expect(sessions(path)).rejects.toThrow(/zstd/);
});

test('a path where nothing is is named', async () => {
  await expect(sessions(join(folder, 'none'))).rejects.toThrow(code('FILE_NOT_FOUND'));
});

test('the local store gives back what was recorded, byte for byte', async () => {
  const run = runOf('a');
  const store = writeStore(emptyStore(), run, runOf('b'));
  expect(await localSource(store).fetch('s-a')).toEqual([run.recording()]);
});

test('a session of the store is found by an id longer than what is searchable', async () => {
  const run = new SampleRun('long');
  const sessionId = 'ü"\\'.repeat(400);
  run.chat([user('a')], 'b', { sessionId });
  const store = writeStore(emptyStore(), run);
  expect(await localSource(store).fetch(sessionId)).toHaveLength(1);
  expect(await localSource(store).fetch(`${sessionId}x`)).toHaveLength(0);
});
