import type { ResourceSpan } from '../../exporter/otlp';
import { readOtlpJson } from '../../exporter/otlp-json';
import { decodeRuns } from '../../exporter/span-decoder';
import { ATTRIBUTES, MAX_SEARCHABLE } from '../../instrumentation/schema/attributes';
import { isObject } from '../log/checked';
import { fetchArriving, type PollOptions } from './arriving-run';
import { BackendHttp } from './backend-http';
import { readJaegerJson } from './jaeger-json';
import { attributeOf, ownSpans, runIdsOf } from './own-spans';
import { startOf, type SourceQuery, type TraceSource } from './trace-source';

export interface JaegerOptions extends Partial<PollOptions> {
  /** How far back traces are looked for. */
  readonly lookbackMs?: number;
  readonly timeoutMs?: number;
}

const DEFAULTS = { lookbackMs: 7 * 24 * 3600_000, deadlineMs: 10_000, settleMs: 2_000, pollMs: 500, timeoutMs: 60_000 };

/** Most traces of one service that a search asks for when nothing is said. */
const SEARCH_DEPTH = 1000;

/** Jaeger v2 (and 1.x from 1.35 on), by its query API. */
export function jaegerSource(url: string, options: JaegerOptions = {}): TraceSource {
  const settings = { ...DEFAULTS, ...options };
  const jaeger = new Jaeger(url, settings);
  return {
    id: 'jaeger',
    name: jaeger.http.name,
    origin: 'backend',
    async *list(query: SourceQuery = {}) {
      yield* decodeRuns(await jaeger.search(query)).sort((a, b) => startOf(a) - startOf(b));
    },
    fetch: (ref) => fetchArriving(ref, async () => ({ spans: await jaeger.spansOf(ref) }), settings),
  };
}

class Jaeger {
  readonly http: BackendHttp;

  constructor(
    url: string,
    private readonly options: Required<JaegerOptions>,
  ) {
    const { timeoutMs } = options;
    this.http = new BackendHttp({ kind: 'jaeger', title: 'Jaeger', url, example: 'http://127.0.0.1:16686', timeoutMs });
  }

  /** All spans of the runs that a reference may name: a run is several traces, and so may a session be. */
  async spansOf(ref: string): Promise<ResourceSpan[]> {
    if (ref === 'last') return this.search({});
    const named = /^[0-9a-f]{32}$/i.test(ref) ? await this.trace(ref.toLowerCase()) : [];
    const found = [...named];
    for (const key of [ATTRIBUTES.sessionId, ATTRIBUTES.runId]) {
      if (runIdsOf(found).size > 0) break;
      const answer = await this.search({}, { [key]: ref.slice(0, MAX_SEARCHABLE) });
      // Versions that know no filter answer with everything: then nothing more can be asked.
      if (answer.some((span) => attributeOf(span, key) !== ref)) return answer;
      found.push(...answer);
    }
    for (const run of runIdsOf(found)) {
      const answer = await this.search({}, { [ATTRIBUTES.runId]: run });
      found.push(...answer.filter((span) => attributeOf(span, ATTRIBUTES.runId) === run));
    }
    return found;
  }

  private async trace(id: string): Promise<ResourceSpan[]> {
    const answer = await this.http.get(`/api/v3/traces/${id}?rawTraces=true&raw_traces=true`);
    if (answer.status === 200) return ownSpans(readOtlpJson(this.http.json(answer)));
    const old = await this.http.get(`/api/traces/${id}?raw=true`);
    if (old.status === 200) return ownSpans(readJaegerJson(this.http.json(old)));
    if (answer.status === 404 || old.status === 404) return [];
    throw this.http.refused(answer);
  }

  async search(query: SourceQuery, attributes?: Record<string, string>): Promise<ResourceSpan[]> {
    const services = query.service === undefined ? await this.services() : [query.service];
    const found: ResourceSpan[] = [];
    for (const service of services) found.push(...(await this.searchService(service, query, attributes)));
    return ownSpans(found);
  }

  private async services(): Promise<string[]> {
    const answer = await this.http.get('/api/v3/services');
    const old = answer.status === 200 ? answer : await this.http.get('/api/services');
    if (old.status !== 200) throw this.http.refused(answer);
    const named = this.http.json(old);
    const list = isObject(named) ? (named['services'] ?? named['data']) : [];
    return Array.isArray(list) ? list.filter((name) => typeof name === 'string') : [];
  }

  private async searchService(
    service: string,
    query: SourceQuery,
    attributes: Record<string, string> | undefined,
  ): Promise<ResourceSpan[]> {
    const until = query.until ?? Date.now() + 60_000;
    const since = query.since ?? until - this.options.lookbackMs;
    const [min, max] = [new Date(since).toISOString(), new Date(until).toISOString()];
    const limit = String(query.limit ?? SEARCH_DEPTH);
    const answer = await this.http.get(
      `/api/v3/traces?${new URLSearchParams({
        'query.serviceName': service,
        'query.startTimeMin': min,
        'query.startTimeMax': max,
        'query.searchDepth': limit,
        'query.rawTraces': 'true',
        ...(attributes !== undefined && { 'query.attributes': JSON.stringify(attributes) }),
      })}`,
    );
    // Names before v2.14 or so; those versions do not know the new ones and answer that the times are missing.
    const found =
      answer.status === 200 || answer.status === 404
        ? answer
        : await this.http.get(
            `/api/v3/traces?${new URLSearchParams({
              'query.service_name': service,
              'query.start_time_min': min,
              'query.start_time_max': max,
              'query.num_traces': limit,
              'query.raw_traces': 'true',
              raw_traces: 'true',
            })}`,
          );
    if (found.status === 404) return [];
    if (found.status !== 200) throw this.http.refused(found);
    return readOtlpJson(this.http.json(found));
  }
}
