import type { IncomingMessage, ServerResponse } from 'node:http';
import protobuf from 'protobufjs/light';
import type { OtlpSpan } from '../../../exporter/otlp';
import { loadOtlpProto } from '../../../exporter/otlp-proto';
import { buildLogs } from '../../../replay/log/build-log';
import { listLogs } from '../../../replay/log/list';
import { resolveRef } from '../../../replay/log/resolve-ref';
import { tempoSource } from '../../../replay/sources/tempo';
import { conversation, requestOf, spansOf, startBackend, stopBackends, tempoCut, textOf } from './fake-backend';

interface FakeTempo {
  readonly version: 1 | 2;
  readonly form: 'proto' | 'json';
  /** Spans of the trace that did not fit its limit. */
  readonly dropped?: (span: OtlpSpan, index: number) => boolean;
  readonly partial?: string;
  readonly tenant?: string;
  readonly stuffing?: number;
}

afterAll(stopBackends);

/** `TraceByIDResponse` of Tempo's tempo.proto, field numbers as published. */
const traceByIdResponse = protobuf.Root.fromJSON({
  nested: {
    TraceByIDResponse: {
      fields: {
        trace: { type: 'bytes', id: 1 },
        metrics: { type: 'bytes', id: 2 },
        status: { type: 'int32', id: 3 },
        message: { type: 'string', id: 4 },
      },
    },
  },
}).lookupType('TraceByIDResponse');

async function fakeTempo(options: FakeTempo): Promise<{ url: string; asked: URL[] }> {
  const asked: URL[] = [];
  const all = spansOf(conversation('run-t')).map((span) => ({
    ...span,
    attributes: span.attributes.map(({ key, value }) => ({ key, value: tempoCut(value) })),
  }));
  const spans = all.filter((span, index) => options.dropped?.(span, index) !== true);
  const url = await startBackend((target, request, response) => {
    asked.push(target);
    if (options.tenant !== undefined && request.headers['x-scope-orgid'] !== options.tenant)
      return void response.writeHead(401).end('no org id');
    if (target.pathname === '/api/search') return search(target, spans, response);
    const byId = /^\/api\/(v2\/)?traces\/([0-9a-f]{32})$/.exec(target.pathname);
    if (byId === null || (byId[1] !== undefined && options.version === 1)) return void response.writeHead(404).end();
    const found = spans.filter((span) => span.traceId === byId[2]);
    if (found.length === 0) return void response.writeHead(404).end('trace not found');
    trace(found, { options, request, response });
  });
  return { url, asked };
}

/** Understands the two conditions that the reader sends. */
function search(url: URL, spans: readonly OtlpSpan[], response: ServerResponse): void {
  const query = url.searchParams.get('q') ?? '';
  const equal = /span\.([\w.]+) = ("(?:[^"\\]|\\.)*")/.exec(query);
  const found = equal
    ? spans.filter((span) => textOf(span, equal[1] ?? '') === JSON.parse(equal[2] ?? '""'))
    : spans.filter((span) => textOf(span, 'reenact.kind') !== undefined);
  const ids = [...new Set(found.map((span) => span.traceId.replace(/^0+/, '')))];
  response.end(JSON.stringify({ traces: ids.map((traceID) => ({ traceID, durationMs: 1 })), metrics: {} }));
}

const base64 = (hex: string | undefined): string => Buffer.from(hex ?? '', 'hex').toString('base64');

function trace(
  spans: OtlpSpan[],
  { options, request, response }: { options: FakeTempo; request: IncomingMessage; response: ServerResponse },
): void {
  const partial = options.partial !== undefined;
  const body = requestOf(spans);
  if (options.form === 'proto') {
    expect(request.headers.accept).toBe('application/protobuf');
    const bytes = loadOtlpProto().encodeRequest(body);
    const wrapped = traceByIdResponse
      .encode({
        trace: bytes,
        metrics: Buffer.alloc(options.stuffing ?? 0),
        status: partial ? 1 : 0,
        message: options.partial,
      })
      .finish();
    response.writeHead(200, { 'content-type': 'application/protobuf' });
    return void response.end(options.version === 2 ? wrapped : bytes);
  }
  // gogo jsonpb: ids in base64, enums by name.
  const resourceSpans = body.resourceSpans.map((entry) => ({
    ...entry,
    scopeSpans: entry.scopeSpans.map((scope) => ({
      ...scope,
      spans: scope.spans.map((span) => ({
        ...span,
        traceId: base64(span.traceId),
        spanId: base64(span.spanId),
        parentSpanId: base64(span.parentSpanId),
        kind: 'SPAN_KIND_INTERNAL',
        status: { code: 'STATUS_CODE_UNSET' },
      })),
    })),
  }));
  const status = partial ? { status: 'PARTIAL', message: options.partial } : { status: 'COMPLETE' };
  response.end(
    JSON.stringify(options.version === 2 ? { trace: { resourceSpans }, ...status } : { batches: resourceSpans }),
  );
}

const turns = (logs: { turns: { request: object; response: object }[] }[]) =>
  logs.flatMap((log) => log.turns.map(({ request, response }) => ({ request, response })));

test.each<FakeTempo>([
  { version: 2, form: 'proto' },
  { version: 2, form: 'json' },
  { version: 1, form: 'proto' },
  { version: 1, form: 'json' },
])('a session comes back whole from a default Tempo with %j', async (options) => {
  const { url } = await fakeTempo(options);
  const { logs, origin } = await resolveRef('s1', { store: '/nowhere', from: `tempo=${url}` });
  expect(turns(logs)).toEqual(turns(buildLogs(conversation('run-t').recording())));
  expect([logs[0]?.outcome, logs[0]?.gaps, origin]).toEqual(['resolved', [], 'backend']);
});

test.each(['run-t', 'last', conversation('run-t').calls[0]!.traceId])('reference %s finds the session', async (ref) => {
  const { url } = await fakeTempo({ version: 2, form: 'proto' });
  const { logs } = await resolveRef(ref, { store: '/nowhere', from: `tempo=${url}/` });
  expect(logs.map((log) => [log.sessionId, log.turns.length])).toEqual([['s1', 8]]);
});

test('the list asks for a service and for a time', async () => {
  const { url, asked } = await fakeTempo({ version: 2, form: 'proto' });
  expect(await listLogs(tempoSource(url))).toMatchObject([{ sessionId: 's1', runId: 'run-t', llmCalls: 4 }]);
  for await (const run of tempoSource(url).list({ service: 'my "agent"', since: 5000, until: 9000 }))
    expect(run.runId).toBe('run-t');
  const query = asked.filter((target) => target.pathname === '/api/search').at(-1)?.searchParams;
  expect(query?.get('q')).toBe('{ span.reenact.kind != nil && resource.service.name = "my \\"agent\\"" }');
  expect([query?.get('start'), query?.get('end')]).toEqual(['5', '9']);
});

test('a trace that Tempo gave in part names the limit that did it', async () => {
  const options = { version: 2, form: 'proto', partial: 'trace exceeds max size' } as const;
  const { url } = await fakeTempo({ ...options, dropped: (_span, index) => index > 6 });
  const [run] = await tempoSource(url, { pollMs: 10, settleMs: 30 }).fetch('s1');
  expect(run?.gaps.map((gap) => gap.message).join()).toMatch(
    /only part of trace .*exceeds max size.*max_bytes_per_trace/,
  );
});

test('spans that are missing from a trace near the limit are put down to it', async () => {
  const { url } = await fakeTempo({ version: 2, form: 'proto', stuffing: 4_900_000, dropped: (_span, i) => i > 6 });
  const [run] = await tempoSource(url, { pollMs: 10, settleMs: 30 }).fetch('s1');
  expect(run?.gaps.map((gap) => gap.message).join()).toMatch(/bytes of trace .*max_bytes_per_trace/);
});

test('a tenant in the address is named to Tempo, and user information is not shown', async () => {
  const { url } = await fakeTempo({ version: 2, form: 'proto', tenant: 'team-a' });
  const source = tempoSource(`${url.replace('//', '//name:secret@')}?tenant=team-a`);
  expect((await source.fetch('run-t')).map((run) => run.calls.length)).toEqual([8]);
  expect(source.name).toBe(`tempo=${url}?tenant=team-a`);
  await expect(tempoSource(url).fetch('run-t')).rejects.toMatchObject({ code: 'SOURCE_REFUSED' });
});

test('what is not there is not found, and where nothing listens is unreachable', async () => {
  const { url } = await fakeTempo({ version: 2, form: 'json' });
  expect(await tempoSource(url, { settleMs: 20, pollMs: 10 }).fetch('0'.repeat(32))).toEqual([]);
  await expect(tempoSource('http://127.0.0.1:9').fetch('x')).rejects.toMatchObject({ code: 'SOURCE_UNREACHABLE' });
  expect(() => tempoSource('ftp://host')).toThrow(expect.objectContaining({ code: 'UNKNOWN_SOURCE' }));
});
