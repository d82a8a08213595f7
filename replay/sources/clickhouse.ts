import type { OtlpAttribute, ResourceSpan } from '../../exporter/otlp';
import { decodeRuns } from '../../exporter/span-decoder';
import { ATTRIBUTES, MAX_SEARCHABLE } from '../../instrumentation/schema/attributes';
import { ReenactError } from '../../instrumentation/schema/errors';
import { isObject, type JsonObject } from '../log/checked';
import { fetchArriving, nameMissing, type PollOptions } from './arriving-run';
import { BackendHttp } from './backend-http';
import { runIdsOf } from './own-spans';
import { startOf, type SourceQuery, type TraceSource } from './trace-source';

export interface ClickHouseOptions extends Partial<PollOptions> {
  readonly timeoutMs?: number;
}

const DEFAULTS = { deadlineMs: 10_000, settleMs: 2_000, pollMs: 500, timeoutMs: 60_000 };

const COLUMNS =
  'TraceId, SpanId, ParentSpanId, SpanName, ResourceAttributes, SpanAttributes, ' +
  'toString(toUnixTimestamp64Nano(Timestamp)) AS StartNano, toString(Duration) AS DurationNano';

/**
 * The table that the Collector's ClickHouse exporter writes, over HTTP. `?database=` and `?table=` of the address name
 * it, `otel_traces` when they are absent. All its values are text; a recording needs no other.
 */
export function clickhouseSource(url: string, options: ClickHouseOptions = {}): TraceSource {
  const settings = { ...DEFAULTS, ...options };
  const table = new Table(url, settings.timeoutMs);
  return {
    id: 'clickhouse',
    name: table.http.name,
    origin: 'backend',
    async *list(query: SourceQuery = {}) {
      const runs = decodeRuns(await table.search(query)).sort((a, b) => startOf(a) - startOf(b));
      yield* runs.map((run) => nameMissing(run));
    },
    fetch: (ref) => fetchArriving(ref, async () => ({ spans: await table.spansOf(ref) }), settings),
  };
}

class Table {
  readonly http: BackendHttp;
  private readonly table: string;

  constructor(url: string, timeoutMs: number) {
    const example = 'http://127.0.0.1:8123/?table=otel.otel_traces';
    this.http = new BackendHttp({ kind: 'clickhouse', title: 'ClickHouse', url, example, timeoutMs });
    const table = this.http.parameters.get('table') ?? 'otel_traces';
    if (!/^\w+(\.\w+)?$/.test(table))
      throw new ReenactError('UNKNOWN_SOURCE', `clickhouse: ${JSON.stringify(table)} is not the name of a table`);
    this.table = table;
  }

  /** All spans of the runs that a reference may name. */
  async spansOf(ref: string): Promise<ResourceSpan[]> {
    if (ref === 'last') return this.search({});
    const attribute = (key: string): string => `SpanAttributes['${key}'] = {ref:String}`;
    const named = [`TraceId = lower({ref:String})`, attribute(ATTRIBUTES.sessionId), attribute(ATTRIBUTES.runId)];
    const found = await this.select(`(${named.join(' OR ')})`, { ref: ref.slice(0, MAX_SEARCHABLE) });
    const spans: ResourceSpan[] = [];
    for (const run of runIdsOf(found)) spans.push(...(await this.select(attribute(ATTRIBUTES.runId), { ref: run })));
    return spans;
  }

  search(query: SourceQuery): Promise<ResourceSpan[]> {
    const conditions = [`SpanAttributes['${ATTRIBUTES.kind}'] != ''`];
    const parameters: Record<string, string> = {};
    const add = (condition: string, name: string, value: string | undefined): void => {
      if (value === undefined) return;
      conditions.push(condition);
      parameters[name] = value;
    };
    add('ServiceName = {service:String}', 'service', query.service);
    add('toUnixTimestamp64Milli(Timestamp) >= {since:Int64}', 'since', whole(query.since));
    add('toUnixTimestamp64Milli(Timestamp) <= {until:Int64}', 'until', whole(query.until));
    return this.select(conditions.join(' AND '), parameters);
  }

  private async select(where: string, parameters: Record<string, string>): Promise<ResourceSpan[]> {
    const database = this.http.parameters.get('database');
    const search = new URLSearchParams({
      query: `SELECT ${COLUMNS} FROM ${this.table} WHERE ${where} FORMAT JSON`,
      ...(database !== null && { database }),
      ...Object.fromEntries(Object.entries(parameters).map(([name, value]) => [`param_${name}`, escaped(value)])),
    });
    const answer = await this.http.get(`/?${search}`);
    if (answer.status !== 200) throw this.http.refused(answer);
    return readClickHouseRows(this.http.json(answer));
  }
}

const whole = (ms: number | undefined): string | undefined => (ms === undefined ? undefined : String(Math.floor(ms)));

/** Parameters of ClickHouse are written as in its tab-separated format. */
function escaped(value: string): string {
  const names: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r', '\0': '\\0' };
  return Array.from(value, (letter) => names[letter] ?? letter).join('');
}

/** Spans of rows of `otel_traces`, as `FORMAT JSON` gives them or one row by itself. */
export function readClickHouseRows(document: unknown): ResourceSpan[] {
  const rows = isObject(document) && Array.isArray(document['data']) ? (document['data'] as unknown[]) : [document];
  return rows.filter(isObject).map(readRow);
}

function readRow(row: JsonObject): ResourceSpan {
  const start = nanos(row['StartNano']);
  return {
    resource: { attributes: readMap(row['ResourceAttributes']) },
    span: {
      traceId: String(row['TraceId'] ?? ''),
      spanId: String(row['SpanId'] ?? ''),
      ...(typeof row['ParentSpanId'] === 'string' && { parentSpanId: row['ParentSpanId'] }),
      name: String(row['SpanName'] ?? ''),
      startTimeUnixNano: String(start),
      endTimeUnixNano: String(start + nanos(row['DurationNano'] ?? row['Duration'])),
      attributes: readMap(row['SpanAttributes']),
    },
  };
}

const nanos = (value: unknown): bigint => (/^\d+$/.test(String(value)) ? BigInt(String(value)) : 0n);

/** Arrays stand in the map as JSON text; the decoder of spans knows that form. */
function readMap(map: unknown): OtlpAttribute[] {
  if (!isObject(map)) return [];
  return Object.entries(map).map(([key, value]) => ({
    key,
    value: { stringValue: typeof value === 'string' ? value : JSON.stringify(value) },
  }));
}
