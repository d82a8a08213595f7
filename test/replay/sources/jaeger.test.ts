import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createEncoderState, encodeRecord } from '../../../exporter/span-encoder';
import type { OtlpSpan, OtlpValue } from '../../../exporter/otlp';
import { buildLogs } from '../../../replay/log/build-log';
import { listLogs } from '../../../replay/log/list';
import { resolveRef } from '../../../replay/log/resolve-ref';
import { jaegerSource } from '../../../replay/sources/jaeger';
import { SampleRun, user } from '../log/sample-run';

/** Answers as a version of Jaeger does; facts of 2.13 (snake case only) and of its main branch (camel case). */
interface FakeOptions {
  readonly names: 'camel' | 'snake';
  readonly filters?: boolean;
  /** Only the old API, as Jaeger 1.x without /api/v3. */
  readonly old?: boolean;
  /** How many spans of the trace have arrived at the n-th request for spans. */
  readonly arrived?: (request: number) => number;
}

class FakeJaeger {
  readonly paths: string[] = [];
  private served = 0;
  private readonly server: Server;

  constructor(
    private readonly spans: readonly OtlpSpan[],
    private readonly options: FakeOptions,
  ) {
    this.server = createServer((request, response) => this.answer(request, response));
  }

  async start(): Promise<string> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '/', 'http://x');
    this.paths.push(`${url.pathname}${url.search}`);
    // The reply carries no JSON content type in the released versions.
    const send = (status: number, body: unknown): void =>
      void response.writeHead(status, { 'content-type': 'text/plain' }).end(JSON.stringify(body));
    const notFound = { error: { httpCode: 404, message: 'trace not found' } };
    if (url.pathname.startsWith('/api/v3') && this.options.old) return send(404, 'no such page');
    if (url.pathname === '/api/v3/services') return send(200, { services: ['agent'] });
    if (url.pathname === '/api/services') return send(200, { data: ['agent'] });
    const spans = this.spans.slice(0, this.options.arrived?.(this.served++) ?? this.spans.length);
    const byId = /^\/api\/(v3\/)?traces\/([0-9a-f]+)$/.exec(url.pathname);
    if (byId !== null) {
      const found = spans.filter((span) => span.traceId === byId[2]);
      if (found.length === 0) return send(404, notFound);
      return send(200, byId[1] === undefined ? jaegerForm(found) : this.otlp(found));
    }
    if (url.pathname !== '/api/v3/traces') return send(404, notFound);
    return this.search(url, spans, send);
  }

  private search(url: URL, spans: readonly OtlpSpan[], send: (status: number, body: unknown) => void): void {
    const query = url.searchParams;
    const [min, depth, raw] =
      this.options.names === 'camel'
        ? ['query.startTimeMin', 'query.searchDepth', 'query.rawTraces']
        : ['query.start_time_min', 'query.num_traces', 'query.raw_traces'];
    if (!query.has(min)) return send(400, { error: { httpCode: 400, message: `${min} is required` } });
    if (!(Number(query.get(depth)) > 0)) return send(500, 'search depth must be greater than 0');
    expect(query.get(raw)).toBe('true');
    const wanted = this.options.filters ? JSON.parse(query.get('query.attributes') ?? '{}') : {};
    const matches = (span: OtlpSpan): boolean =>
      Object.entries(wanted).every(([key, value]) =>
        span.attributes.some((item) => item.key === key && item.value.stringValue === value),
      );
    const traces = new Set(spans.filter(matches).map((span) => span.traceId));
    const found = spans.filter((span) => traces.has(span.traceId));
    return found.length === 0 ? send(404, 'not found') : send(200, this.otlp(found));
  }

  /** One entry for each stored batch, the resource repeated; another program's spans among ours. */
  private otlp(spans: readonly OtlpSpan[]) {
    const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'agent' } }] };
    const foreign = {
      traceId: 'f'.repeat(32),
      spanId: 'f'.repeat(16),
      name: 'GET /',
      startTimeUnixNano: '1',
      endTimeUnixNano: '2',
      attributes: [],
    };
    return {
      result: {
        resourceSpans: [foreign, ...spans].map((span) => ({
          resource,
          scopeSpans: [{ scope: { name: 'reenact' }, spans: [span] }],
        })),
      },
    };
  }
}

/** As `/api/traces/{id}`: flat tags, arrays as JSON text, microseconds. */
function jaegerForm(spans: readonly OtlpSpan[]) {
  const tag = (key: string, value: OtlpValue) =>
    value.arrayValue !== undefined
      ? { key, type: 'string', value: JSON.stringify(value.arrayValue.values?.map((item) => item.stringValue)) }
      : value.intValue !== undefined
        ? { key, type: 'int64', value: Number(value.intValue) }
        : value.boolValue !== undefined
          ? { key, type: 'bool', value: value.boolValue }
          : { key, type: 'string', value: value.stringValue ?? String(value.doubleValue) };
  const micros = (nanos: string): number => Number(BigInt(nanos) / 1000n);
  return {
    data: [
      {
        traceID: spans[0]?.traceId,
        processes: { p1: { serviceName: 'agent', tags: [] } },
        spans: spans.map((span) => ({
          traceID: span.traceId,
          spanID: span.spanId,
          operationName: span.name,
          processID: 'p1',
          startTime: micros(span.startTimeUnixNano),
          duration: micros(span.endTimeUnixNano) - micros(span.startTimeUnixNano),
          references: span.parentSpanId
            ? [{ refType: 'CHILD_OF', traceID: span.traceId, spanID: span.parentSpanId }]
            : [],
          tags: span.attributes.map(({ key, value }) => tag(key, value)),
        })),
      },
    ],
    errors: null,
  };
}

function recordedRun(): SampleRun {
  const run = new SampleRun('run-j');
  run.session('s1', 'start', { agentVersion: 'v1' });
  for (let turn = 0; turn < 4; turn++) {
    run.chat([user('x'.repeat(3000)), user(`turn ${turn} 🙂`)], 'ok', { sessionId: 's1' });
    run.tool('t', { turn }, 'r'.repeat(5000), { sessionId: 's1' });
  }
  run.session('s1', 'end', { agentVersion: 'v1', outcome: 'resolved' });
  run.exit();
  return run;
}

function spansOf(run: SampleRun): OtlpSpan[] {
  const state = createEncoderState();
  return run.records().map((record) => encodeRecord(record, state));
}

const open: FakeJaeger[] = [];
afterAll(() => open.forEach((server) => server.stop()));
async function fake(options: FakeOptions, spans = spansOf(recordedRun())) {
  const server = new FakeJaeger(spans, options);
  open.push(server);
  return { url: await server.start(), server };
}

const turnsOf = (logs: { turns: { request: object; response: object }[] }[]) =>
  logs.flatMap((log) => log.turns.map(({ request, response }) => ({ request, response })));
const code = (value: string) => expect.objectContaining({ code: value });

test.each<FakeOptions>([{ names: 'snake' }, { names: 'camel' }, { names: 'camel', filters: true }])(
  'a session comes back from Jaeger with %j as it was recorded',
  async (options) => {
    const { url } = await fake(options);
    const { logs, origin } = await resolveRef('s1', { store: '/nowhere', from: `jaeger=${url}` });
    expect(turnsOf(logs)).toEqual(turnsOf(buildLogs(recordedRun().recording())));
    expect([logs[0]?.outcome, logs[0]?.gaps, origin]).toEqual(['resolved', [], 'backend']);
  },
);

test.each(['run-j', 'last', recordedRun().calls[0]!.traceId])('reference %s finds the same session', async (ref) => {
  const { url } = await fake({ names: 'camel', filters: true });
  const { logs } = await resolveRef(ref, { store: '/nowhere', from: `jaeger=${url}/` });
  expect(logs.map((log) => [log.sessionId, log.turns.length])).toEqual([['s1', 8]]);
});

test('the list holds the sessions of a service', async () => {
  const { url } = await fake({ names: 'snake' });
  expect(await listLogs(jaegerSource(url))).toMatchObject([
    { sessionId: 's1', runId: 'run-j', llmCalls: 4, toolCalls: 4 },
  ]);
});

test('a trace that is still arriving is waited for', async () => {
  const { url } = await fake({ names: 'snake', arrived: (request) => 4 + request * 2 });
  const [run] = await jaegerSource(url, { pollMs: 20 }).fetch('run-j');
  expect([run?.calls.length, run?.gaps]).toEqual([8, []]);
});

test('what does not arrive in time is named', async () => {
  const { url } = await fake({ names: 'snake', arrived: () => 6 });
  const [run] = await jaegerSource(url, { pollMs: 20, settleMs: 100 }).fetch('s1');
  expect(run?.gaps).toMatchObject([{ code: 'SPANS_MISSING', message: expect.stringContaining('process 0') }]);
});

test('the API of old versions is used where the new one is not there', async () => {
  const { url } = await fake({ names: 'snake', old: true });
  const trace = recordedRun().calls[0]!.traceId;
  const [run] = await jaegerSource(url, { pollMs: 20, settleMs: 60 }).fetch(trace);
  expect(run?.calls).toHaveLength(8);
});

test('what is not there is not found', async () => {
  const { url } = await fake({ names: 'camel', filters: true });
  const source = jaegerSource(url, { pollMs: 10, settleMs: 50 });
  expect(await source.fetch('nothing')).toEqual([]);
  expect(await source.fetch('0'.repeat(32))).toEqual([]);
});

test.each(['http://127.0.0.1:9', 'http://127.0.0.1:1'])(
  'an address where nothing listens is unreachable: %s',
  async (url) => {
    await expect(listLogs(jaegerSource(url))).rejects.toThrow(code('SOURCE_UNREACHABLE'));
    await expect(jaegerSource(url).fetch('x')).rejects.toThrow(code('SOURCE_UNREACHABLE'));
  },
);

test('a server that is no Jaeger is refused with what it said', async () => {
  const server = createServer((_request, response) => response.writeHead(403).end('go \u001b[31maway'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await expect(listLogs(jaegerSource(url))).rejects.toThrow(code('SOURCE_REFUSED'));
  await expect(listLogs(jaegerSource(url))).rejects.toThrow(/403: "go \\u001b\[31maway"/);
  server.close();
});

test('a page in place of JSON is refused', async () => {
  const server = createServer((_request, response) => response.end('<html>'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await expect(listLogs(jaegerSource(url))).rejects.toThrow(code('SOURCE_REFUSED'));
  server.close();
});
