import type { ResourceSpan } from '../../exporter/otlp';
import { readOtlpJson } from '../../exporter/otlp-json';
import { loadOtlpProto } from '../../exporter/otlp-proto';
import { decodeRuns } from '../../exporter/span-decoder';
import { ATTRIBUTES, MAX_SEARCHABLE } from '../../instrumentation/schema/attributes';
import { isObject } from '../log/checked';
import { fetchArriving, nameMissing, type Found, type PollOptions } from './arriving-run';
import { type Answer, BackendHttp } from './backend-http';
import { ownSpans, runIdsOf } from './own-spans';
import { startOf, type SourceQuery, type TraceSource } from './trace-source';

export interface TempoOptions extends Partial<PollOptions> {
  /** How far back traces are looked for; Tempo's own bound is a week. */
  readonly lookbackMs?: number;
  readonly timeoutMs?: number;
}

/** A search sees a new trace after some 30 seconds (`query_end_cutoff`); a trace id is answered at once. */
const DEFAULTS = { lookbackMs: 167 * 3600_000, deadlineMs: 45_000, settleMs: 2_000, pollMs: 500, timeoutMs: 60_000 };

/** Most traces that a search asks for when nothing is said. */
const SEARCH_LIMIT = 1000;

/** What a trace may weigh in a Tempo with default limits, and how near to it a loss is put down to the limit. */
const MAX_TRACE_BYTES = 5_000_000;
const NEAR = 0.3;

/** Grafana Tempo, by its query API. `?tenant=NAME` of the address names the tenant. */
export function tempoSource(url: string, options: TempoOptions = {}): TraceSource {
  const settings = { ...DEFAULTS, ...options };
  const tempo = new Tempo(url, settings);
  return {
    id: 'tempo',
    name: tempo.http.name,
    origin: 'backend',
    async *list(query: SourceQuery = {}) {
      const { spans, cause } = await tempo.traces(await tempo.search(`span.${ATTRIBUTES.kind} != nil`, query));
      const runs = decodeRuns(spans).sort((a, b) => startOf(a) - startOf(b));
      yield* runs.map((run) => nameMissing(run, cause));
    },
    fetch: (ref) => fetchArriving(ref, () => tempo.runsOf(ref), settings),
  };
}

class Tempo {
  readonly http: BackendHttp;
  private readonly tenant: Record<string, string>;
  private readonly proto = loadOtlpProto();

  constructor(
    url: string,
    private readonly options: Required<TempoOptions>,
  ) {
    const { timeoutMs } = options;
    this.http = new BackendHttp({ kind: 'tempo', title: 'Tempo', url, example: 'http://127.0.0.1:3200', timeoutMs });
    const tenant = this.http.parameters.get('tenant');
    this.tenant = tenant === null ? {} : { 'X-Scope-OrgID': tenant };
  }

  /** All spans of the runs that a reference may name: a run is several traces, and so may a session be. */
  async runsOf(ref: string): Promise<Found> {
    if (ref === 'last') return this.traces(await this.search(`span.${ATTRIBUTES.kind} != nil`));
    const ids = new Set(/^[0-9a-f]{32}$/i.test(ref) ? [ref.toLowerCase()] : []);
    const value = traceQlString(ref.slice(0, MAX_SEARCHABLE));
    for (const key of [ATTRIBUTES.sessionId, ATTRIBUTES.runId]) {
      for (const id of await this.search(`span.${key} = ${value}`)) ids.add(id);
    }
    const found = await this.traces(ids);
    const more = new Set<string>();
    for (const run of runIdsOf(found.spans)) {
      for (const id of await this.search(`span.${ATTRIBUTES.runId} = ${traceQlString(run)}`)) {
        if (!ids.has(id)) more.add(id);
      }
    }
    const rest = await this.traces(more);
    const cause = found.cause ?? rest.cause;
    return { spans: [...found.spans, ...rest.spans], ...(cause !== undefined && { cause }) };
  }

  /** Ids of the traces in which a span fulfils the condition. */
  async search(condition: string, query: SourceQuery = {}): Promise<Set<string>> {
    const until = query.until ?? Date.now() + 60_000;
    const since = query.since ?? until - this.options.lookbackMs;
    const service = query.service === undefined ? '' : ` && resource.service.name = ${traceQlString(query.service)}`;
    const parameters = new URLSearchParams({
      q: `{ ${condition}${service} }`,
      start: String(Math.floor(since / 1000)),
      end: String(Math.ceil(until / 1000)),
      limit: String(query.limit ?? SEARCH_LIMIT),
      spss: '1',
    });
    const answer = await this.http.get(`/api/search?${parameters}`, this.tenant);
    if (answer.status !== 200) throw this.http.refused(answer);
    const document = this.http.json(answer);
    const list = isObject(document) && Array.isArray(document['traces']) ? (document['traces'] as unknown[]) : [];
    // Old data lost the leading zeros of ids here.
    return new Set(list.filter(isObject).map((trace) => String(trace['traceID']).toLowerCase().padStart(32, '0')));
  }

  /** The spans of some traces, and why some of them may be missing. */
  async traces(ids: Iterable<string>): Promise<Found> {
    const spans: ResourceSpan[] = [];
    let cause: string | undefined;
    for (const id of ids) {
      const trace = await this.trace(id);
      spans.push(...ownSpans(trace.spans));
      cause ??= trace.cause;
    }
    return { spans, ...(cause !== undefined && { cause }) };
  }

  private async trace(id: string): Promise<Found> {
    const headers = { ...this.tenant, accept: 'application/protobuf' };
    const answer = await this.http.get(`/api/v2/traces/${id}?span_pruning=false`, headers);
    if (answer.status === 200) return this.read(id, answer, 2);
    if (answer.status !== 404) throw this.http.refused(answer);
    // Not found, or a Tempo before 2.6 that has the first API only.
    const old = await this.http.get(`/api/traces/${id}`, headers);
    if (old.status === 404) return { spans: [] };
    if (old.status !== 200) throw this.http.refused(old);
    return this.read(id, old, 1);
  }

  private read(id: string, answer: Answer, version: 1 | 2): Found {
    const isProto = answer.contentType.includes('protobuf');
    if (isProto && version === 1) return this.limited(id, answer, { spans: this.proto.decodeRequest(answer.bytes) });
    if (isProto) return this.limited(id, answer, this.proto.decodeTempoTrace(answer.bytes));
    const document = this.http.json(answer);
    const status = isObject(document) ? document['status'] : undefined;
    const message = isObject(document) ? String(document['message'] ?? '') : '';
    const isPartial = status === 1 || String(status).endsWith('PARTIAL');
    return this.limited(id, answer, { spans: readOtlpJson(document), isPartial, message });
  }

  /** Tempo cuts a trace without telling the sender; when it tells the reader, that is what counts. */
  private limited(
    id: string,
    { bytes }: Answer,
    { spans, isPartial, message }: { spans: ResourceSpan[]; isPartial?: boolean; message?: string },
  ): Found {
    const limit = 'likely its limit max_bytes_per_trace (5,000,000 bytes by default)';
    if (isPartial) {
      const said = message ? ` (${JSON.stringify(message.slice(0, 200))})` : '';
      return { spans, cause: `Tempo says that it gave only part of trace ${id}${said}: ${limit}` };
    }
    if (bytes.length < MAX_TRACE_BYTES * NEAR) return { spans };
    return { spans, cause: `Tempo gave ${bytes.length} bytes of trace ${id}: ${limit}` };
  }
}

/** TraceQL has the strings of Go, whose escapes hold those of JSON. */
const traceQlString = (text: string): string => JSON.stringify(text);
