import type { OtlpSpan, OtlpValue } from '../../../exporter/otlp';
import { buildLogs } from '../../../replay/log/build-log';
import { listLogs } from '../../../replay/log/list';
import { resolveRef } from '../../../replay/log/resolve-ref';
import { clickhouseSource } from '../../../replay/sources/clickhouse';
import { conversation, spansOf, startBackend, stopBackends, textOf } from './fake-backend';

afterAll(stopBackends);

/** As the exporter makes text of values for its `Map(LowCardinality(String), String)`. */
function asText(value: OtlpValue): string {
  if (value.arrayValue !== undefined) return JSON.stringify(value.arrayValue.values?.map((item) => item.stringValue));
  return String(value.stringValue ?? value.intValue ?? value.doubleValue ?? value.boolValue);
}

const row = (span: OtlpSpan): object => ({
  TraceId: span.traceId,
  SpanId: span.spanId,
  ParentSpanId: span.parentSpanId ?? '',
  SpanName: span.name,
  ResourceAttributes: { 'service.name': 'agent' },
  SpanAttributes: Object.fromEntries(span.attributes.map(({ key, value }) => [key, asText(value)])),
  StartNano: span.startTimeUnixNano,
  DurationNano: String(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)),
});

async function fake(): Promise<{ url: string; asked: URLSearchParams[] }> {
  const spans = spansOf(conversation('run-c'));
  const asked: URLSearchParams[] = [];
  const url = await startBackend((target, _request, response) => {
    const query = target.searchParams;
    asked.push(query);
    const ref = query.get('param_ref');
    const keys = [...(query.get('query') ?? '').matchAll(/SpanAttributes\['([\w.]+)'\] = /g)].map((match) => match[1]);
    const found = spans.filter(
      (span) => ref === null || span.traceId === ref || keys.some((key) => textOf(span, key ?? '') === ref),
    );
    response.end(JSON.stringify({ meta: [], data: found.map(row), rows: found.length }));
  });
  return { url, asked };
}

test.each(['s1', 'run-c', 'last', conversation('run-c').calls[0]!.traceId])(
  'reference %s gives the session from the table of the Collector as it was recorded',
  async (ref) => {
    const { url } = await fake();
    const { logs } = await resolveRef(ref, { store: '/nowhere', from: `clickhouse=${url}` });
    const [expected] = buildLogs(conversation('run-c').recording());
    expect(logs.map((log) => log.turns)).toEqual([expected?.turns]);
    expect(logs[0]?.gaps).toEqual([]);
  },
);

test('values reach ClickHouse as parameters, never as text of the query', async () => {
  const { url, asked } = await fake();
  const source = clickhouseSource(`${url}?table=otel.spans&database=otel`, { settleMs: 10, pollMs: 5 });
  expect(await source.fetch(`'; DROP TABLE x\t\\`)).toEqual([]);
  expect([asked[0]?.get('param_ref'), asked[0]?.get('database')]).toEqual([`'; DROP TABLE x\\t\\\\`, 'otel']);
  expect(asked[0]?.get('query')).toMatch(/^SELECT .* FROM otel\.spans WHERE [^;]*FORMAT JSON$/);
  expect(() => clickhouseSource(`${url}?table=x;y`)).toThrow(expect.objectContaining({ code: 'UNKNOWN_SOURCE' }));
});

test('the list asks for a service and a time', async () => {
  const { url, asked } = await fake();
  expect(await listLogs(clickhouseSource(url))).toMatchObject([{ sessionId: 's1', llmCalls: 4, toolCalls: 4 }]);
  const runs: string[] = [];
  for await (const run of clickhouseSource(url).list({ service: 'agent', since: 1.5 })) runs.push(run.runId);
  expect(runs).toEqual(['run-c']);
  expect([asked.at(-1)?.get('param_service'), asked.at(-1)?.get('param_since')]).toEqual(['agent', '1']);
});
