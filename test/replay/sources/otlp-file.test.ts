import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import zlib, { gzipSync } from 'node:zlib';
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

test('damaged zstd, or zstd on a Node that cannot read it, is named', async () => {
  const frame = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x05, 0x29, 0, 0, ...Buffer.from('hell')]);
  frame[6] = 0x2f;
  const path = write('z.jsonl', frame);
  await expect(sessions(path)).rejects.toThrow(code('LOG_INVALID'));
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

test('one bare message of protobuf an object, as the S3 exporter writes, is read from its folders', async () => {
  const proto = loadOtlpProto();
  documents(runOf('a')).forEach((document, index) => {
    const hour = join('s3', 'year=2026', 'month=01', 'day=02', `hour=0${index}`, 'minute=00');
    mkdirSync(join(folder, hour), { recursive: true });
    const bytes = proto.encodeRequest(document as OtlpRequest);
    write(
      join(hour, `traces_${index}.binpb${index === 0 ? '.gz' : ''}`),
      index === 0 ? gzipSync(bytes) : Buffer.from(bytes),
    );
  });
  expect(await otlpFileSource(join(folder, 's3')).fetch('s-a')).toEqual([runOf('a').recording()]);
});

test.each<[string, (document: object) => object]>([
  ['JSON as text', (document) => ({ topic: 'otlp_spans', key: null, payload: JSON.stringify(document) })],
  ['JSON', (document) => ({ partition: 0, offset: 1, value: document })],
  [
    'protobuf',
    (document) => ({
      topic: 'otlp_spans',
      value: Buffer.from(loadOtlpProto().encodeRequest(document as OtlpRequest)).toString('base64'),
    }),
  ],
])('a dump of a Kafka topic with messages of %s is read', async (name, message) => {
  const dump = documents(runOf('a')).map((document) => `${JSON.stringify(message(document))}\n`);
  expect(await sessions(write(`kafka-${name}.jsonl`, dump.join('')))).toEqual(['s-a']);
});

test('what the page of Jaeger downloads is read', async () => {
  const tag = ({
    key,
    value,
  }: {
    key: string;
    value: { stringValue?: string; arrayValue?: { values?: object[] } };
  }) => ({
    key,
    type: 'string',
    value: value.stringValue ?? JSON.stringify(value.arrayValue?.values?.map((item) => Object.values(item)[0])),
  });
  const spans = (documents(runOf('a')) as OtlpRequest[]).flatMap(
    (document) => document.resourceSpans[0]!.scopeSpans[0]!.spans,
  );
  const data = spans.map((span) => ({
    traceID: span.traceId,
    spans: [{ traceID: span.traceId, spanID: span.spanId, operationName: span.name, tags: span.attributes.map(tag) }],
    processes: {},
  }));
  expect(await sessions(write('download.json', JSON.stringify({ data, total: 0 }, null, 2)))).toEqual(['s-a']);
});

const { zstdCompressSync } = zlib as { zstdCompressSync?: (bytes: Uint8Array) => Buffer };
// Node has zstd from 22.15 on; on older ones the test above this says what a person sees.
const withZstd = zstdCompressSync === undefined ? test.skip.each : test.each;
withZstd([
  ['the whole file', () => zstdCompressSync!(Buffer.from(lines(runOf('a'))))],
  [
    'each message by itself',
    () => framed(documents(runOf('a')).map((document) => zstdCompressSync!(Buffer.from(JSON.stringify(document))))),
  ],
])('zstd over %s is read', async (name, content) => {
  const path = write(`${name}.json`, content());
  expect(await otlpFileSource(path).fetch('s-a')).toEqual([runOf('a').recording()]);
});
