import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { latestRun, listRuns, readRun } from '../../exporter/local-store';
import { sendWaiting } from '../../exporter/send-spool';
import { createSink as makeSink, type LocalSink } from '../../exporter/sink';
import { decodeSpans } from '../../exporter/span-decoder';
import { readConfig, type Config } from '../../instrumentation/config';
import type { AnyRecord } from '../../instrumentation/schema/records';
import { type Answer, type Receiver, startReceiver } from './otlp-receiver';
import { exchange, samples } from './record-samples';

const store = (): string => join(fs.mkdtempSync(join(tmpdir(), 'reenact-sink-')), '.reenact');
const failures: [string, string][] = [];
const diagnostics = { failed: (place: string, error: unknown) => void failures.push([place, String(error)]) };
beforeEach(() => failures.splice(0));

// A sender that goes on trying would be seen by the tests of other files in the same process.
const sinks: LocalSink[] = [];
function createSink(...args: Parameters<typeof makeSink>): LocalSink {
  const sink = makeSink(...args);
  sinks.push(sink);
  return sink;
}
afterEach(() => sinks.splice(0).forEach((sink) => sink.close()));

const receivers: Receiver[] = [];
async function receive(answer?: Answer): Promise<Receiver> {
  const receiver = await startReceiver(answer);
  receivers.push(receiver);
  return receiver;
}
afterEach(async () => {
  await Promise.all(receivers.splice(0).map((receiver) => receiver.stop()));
});

function config(dir: string, env: Record<string, string> = {}): Config {
  return readConfig({ REENACT_DIR: dir, OTEL_SERVICE_NAME: 'shop', ...env }, tmpdir());
}

const turns = (count: number, size: number): AnyRecord[] => {
  const messages: string[] = [];
  return Array.from({ length: count }, (_, i) => {
    messages.push(`{"role":"user","content":"${String(i).padStart(size, 'x')}"}`);
    return exchange(`{"model":"m","messages":[${messages.join(',')}]}`, { seqStart: i * 3, seqEnd: i * 3 + 2 });
  });
};

test('writes each record to a private file at once, and reads the run back', async () => {
  const dir = store();
  const sink = createSink(config(dir), { diagnostics });
  const records = samples();
  for (const record of records) sink.write(record);
  const run = latestRun(dir);
  expect(run?.runId).toBe('run-1');
  const recording = await readRun(dir, 'run-1');
  expect(recording.gaps).toEqual([]);
  expect(recording.calls).toHaveLength(records.filter((record) => 'seqStart' in record).length);
  expect(fs.statSync(dir).mode & 0o777).toBe(0o700);
  expect(fs.statSync(run?.files[0] as string).mode & 0o777).toBe(0o600);
  expect(fs.readFileSync(join(dir, '.gitignore'), 'utf8')).toBe('*\n');
  expect(failures).toEqual([]);
});

test('opens nothing before the first record', () => {
  const dir = store();
  createSink(config(dir), { diagnostics }).flushSync();
  expect(fs.existsSync(dir)).toBe(false);
});

test('an id never becomes a path', () => {
  const dir = store();
  const sink = createSink(config(dir), { diagnostics });
  sink.write({ ...exchange('{}'), runId: '../../evil', processPath: '..' });
  const names = fs.readdirSync(join(dir, 'runs'));
  expect(names).toEqual(['%2e.%2f..%2fevil']);
});

test('refuses a store that is a link to elsewhere', () => {
  const dir = store();
  const target = fs.mkdtempSync(join(tmpdir(), 'reenact-elsewhere-'));
  fs.symlinkSync(target, dir);
  createSink(config(dir), { diagnostics }).write(exchange('{}'));
  expect(fs.readdirSync(target)).toEqual([]);
  expect(failures[0]?.[1]).toContain('link');
});

// Windows does not let go of a file that is open.
(process.platform === 'win32' ? test.skip : test)(
  'a store that was removed while it was written is named, once',
  () => {
    const dir = store();
    const sink = createSink(config(dir), { diagnostics });
    sink.write(exchange('{"n":1}'));
    sink.flushSync();
    expect(failures).toEqual([]);
    fs.rmSync(dir, { recursive: true });
    sink.write(exchange('{"n":2}'));
    sink.flushSync();
    sink.flushSync();
    expect(failures).toEqual([
      ['records lost', expect.stringMatching(/\.otlp\.jsonl was removed while it was written$/)],
    ]);
  },
);

test('a store that cannot be made is counted and the records are kept until it can', () => {
  const dir = store();
  let now = 0;
  const sink = createSink(config(join(dir, 'sub')), { diagnostics, now: () => now });
  fs.mkdirSync(join(dir, '..'), { recursive: true });
  fs.writeFileSync(dir, 'a file in the way');
  sink.write(exchange('{"n":1}'));
  expect(failures.map(([place]) => place)).toEqual(['local store']);
  fs.rmSync(dir);
  now = 2000;
  sink.write(exchange('{"n":2}'));
  expect(listRuns(join(dir, 'sub'))[0]?.files).toHaveLength(1);
  expect(
    fs
      .readFileSync(listRuns(join(dir, 'sub'))[0]?.files[0] as string, 'utf8')
      .trim()
      .split('\n'),
  ).toHaveLength(2);
});

test.each(['http/protobuf', 'http/json'])('sends the same spans over %s, gzipped, with headers', async (protocol) => {
  const receiver = await receive();
  const dir = store();
  const env = {
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
    OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
    OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=t%201',
  };
  const sink = createSink(config(dir, env), { diagnostics });
  for (const record of samples()) sink.write(record);
  await sink.flush(10_000);
  expect(decodeSpans(receiver.spans)).toEqual(await readRun(dir, 'run-1'));
  expect(receiver.posts[0]?.headers['x-tenant']).toBe('t 1');
  expect(failures).toEqual([]);
});

test('sends JSON unless told otherwise, and protobuf to a receiver that takes no JSON', async () => {
  const receiver = await receive((n) => (n === 0 ? { status: 415 } : undefined));
  const dir = store();
  const sink = createSink(config(dir, { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: receiver.url }), { diagnostics });
  for (const record of samples()) sink.write(record);
  await sink.flush(10_000);
  expect(receiver.posts.map((post) => post.headers['content-type'])).toEqual([
    'application/json',
    'application/x-protobuf',
  ]);
  expect(decodeSpans(receiver.spans)).toEqual(await readRun(dir, 'run-1'));
  expect(failures).toEqual([]);
});

test('a refusal of the protocol that was asked for is told, not worked around', async () => {
  const receiver = await receive(() => ({ status: 415, body: 'no' }));
  const env = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: receiver.url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' };
  const sink = createSink(config(store(), env), { diagnostics });
  for (const record of samples()) sink.write(record);
  await sink.flush(10_000);
  expect(receiver.posts).toHaveLength(1);
  expect(failures).toEqual([['OTLP endpoint', 'HTTP 415 no']]);
});

test('packs by bytes: no request is over 4 MB and a giant goes alone', async () => {
  const receiver = await receive();
  const sink = createSink(config(store(), { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: receiver.url }), { diagnostics });
  for (let i = 0; i < 30; i++) sink.write(exchange(`${i}${'a'.repeat(i === 15 ? 5_000_000 : 300_000)}`));
  await sink.flush(20_000);
  expect(receiver.spans).toHaveLength(30);
  const large = receiver.posts.filter((post) => post.bytes > 3.5 * 1024 * 1024);
  expect(large).toHaveLength(1);
});

test('halves what is too large, counts a giant that stays so, and partial success', async () => {
  const receiver = await receive((n, bytes) => {
    if (bytes > 100_000) return { status: 413 };
    return { status: 200, body: n === 8 ? '{"partialSuccess":{"rejectedSpans":"2","errorMessage":"no"}}' : '{}' };
  });
  const env = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: receiver.url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' };
  const sink = createSink(config(store(), env), { diagnostics });
  for (let i = 0; i < 8; i++) sink.write(exchange(`${i}${'a'.repeat(i === 5 ? 200_000 : 40_000)}`));
  await sink.flush(20_000);
  expect(receiver.spans).toHaveLength(7);
  expect(failures.filter(([place]) => place === 'spans lost')[0]?.[1]).toContain('too large');
});

test('a hanging endpoint delays the end by no more than the deadline, and the next process sends', async () => {
  let hang = true;
  const receiver = await receive(() => (hang ? 'hang' : undefined));
  const dir = store();
  const settings = config(dir, { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: receiver.url });
  const sink = createSink(settings, { diagnostics });
  for (const record of turns(5, 100)) sink.write(record);
  const start = Date.now();
  await sink.flush(300);
  expect(Date.now() - start).toBeLessThan(800);
  hang = false;
  // The file is this living process's own; under another number it is one that died.
  const file = listRuns(dir)[0]?.files[0] as string;
  const other = file.replace(/-\d+\.otlp/, '-999999999.otlp');
  fs.renameSync(file, other);
  fs.renameSync(`${file}.sent`, `${other}.sent`);
  expect(await sendWaiting(settings, 3000)).toEqual({ waiting: 0, lost: 0 });
  expect(new Set(receiver.spans.map(({ span }) => span.spanId)).size).toBe(5);
  expect(await sendWaiting(settings, 3000)).toEqual({ waiting: 0, lost: 0 });
  expect(receiver.spans).toHaveLength(5);
});

test('an endpoint that refuses connections costs no time at the end', async () => {
  const sink = createSink(config(store(), { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }), { diagnostics });
  sink.write(exchange('{}'));
  const start = Date.now();
  await sink.flush(1000);
  expect(Date.now() - start).toBeLessThan(500);
  expect(failures[0]?.[0]).toBe('OTLP endpoint');
});

test('a full queue is sent from the file', async () => {
  let down = true;
  const receiver = await receive(() => (down ? { status: 503, headers: { 'retry-after': '0' } } : undefined));
  const sink = createSink(config(store(), { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: receiver.url }), { diagnostics });
  for (let i = 0; i < 40; i++) sink.write(exchange(`${i}${String(i).repeat(250_000)}`));
  await sink.flush(1000);
  expect(receiver.spans).toHaveLength(0);
  down = false;
  await sink.flush(10_000);
  expect(receiver.spans).toHaveLength(40);
  expect(new Set(receiver.spans.map(({ span }) => span.spanId)).size).toBe(40);
  expect(failures.filter(([place]) => place === 'spans lost')).toEqual([]);
});

test('a read-only store keeps the program and the sending going', async () => {
  const receiver = await receive();
  const dir = store();
  fs.mkdirSync(dir);
  fs.chmodSync(dir, 0o500);
  const sink = createSink(config(join(dir, 'no', 'store'), { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: receiver.url }), {
    diagnostics,
  });
  sink.write(exchange('{}'));
  await sink.flush(10_000);
  expect(receiver.spans).toHaveLength(1);
});
