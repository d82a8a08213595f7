import { setTimeout as sleep } from 'node:timers/promises';
import type { ResourceSpan } from '../../exporter/otlp';
import { readOtlpJson } from '../../exporter/otlp-json';
import { decodeRuns } from '../../exporter/span-decoder';
import { ReenactError } from '../../instrumentation/schema/errors';
import { ATTRIBUTES, MAX_SEARCHABLE } from '../../instrumentation/schema/attributes';
import type { Recording } from '../../instrumentation/schema/records';
import { isObject } from '../log/checked';
import { missingCalls } from './completeness';
import { readJaegerJson } from './jaeger-json';
import { selectRuns, startOf, type SourceQuery, type TraceSource } from './trace-source';

export interface JaegerOptions {
  /** How far back traces are looked for. */
  readonly lookbackMs?: number;
  /** How long a trace that is still arriving is waited for. */
  readonly deadlineMs?: number;
  /** Without a sign of the end: how long nothing new must arrive for the trace to count as all there is. */
  readonly settleMs?: number;
  readonly pollMs?: number;
  readonly timeoutMs?: number;
}

const DEFAULTS = { lookbackMs: 7 * 24 * 3600_000, deadlineMs: 10_000, settleMs: 2_000, pollMs: 500, timeoutMs: 60_000 };

/** Most traces of one service that a search asks for when nothing is said. */
const SEARCH_DEPTH = 1000;

/** Jaeger v2 (and 1.x from 1.35 on), by its query API. */
export function jaegerSource(url: string, options: JaegerOptions = {}): TraceSource {
  const jaeger = new Jaeger(url, { ...DEFAULTS, ...options });
  return {
    id: 'jaeger',
    name: `jaeger=${url}`,
    origin: 'backend',
    async *list(query: SourceQuery = {}) {
      yield* decodeRuns(await jaeger.search(query)).sort((a, b) => startOf(a) - startOf(b));
    },
    fetch: (ref) => jaeger.fetchRuns(ref),
  };
}

class Jaeger {
  private readonly base: string;

  constructor(
    url: string,
    private readonly options: Required<JaegerOptions>,
  ) {
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
      throw new ReenactError('UNKNOWN_SOURCE', `jaeger=${url} is not an HTTP address`, {
        hint: 'Give the address of Jaeger, for example jaeger=http://127.0.0.1:16686.',
      });
    this.base = url.replace(/\/+$/, '');
  }

  /** Looks until the run is whole, nothing new has arrived for a while, or the deadline has passed. */
  async fetchRuns(ref: string): Promise<Recording[]> {
    const deadline = Date.now() + this.options.deadlineMs;
    let seen = -1;
    let unchangedSince = 0;
    for (;;) {
      const spans = await this.spansOf(ref);
      const runs = selectRuns(decodeRuns(spans), ref);
      if (runs.length > 0 && runs.every((run) => missingCalls(run).length === 0)) return runs;
      const now = Date.now();
      if (spans.length !== seen) unchangedSince = now;
      seen = spans.length;
      if (now >= deadline || now - unchangedSince >= this.options.settleMs) return runs.map(nameMissing);
      await sleep(this.options.pollMs);
    }
  }

  /** All spans of the runs that a reference may name: a run is several traces, and so may a session be. */
  private async spansOf(ref: string): Promise<ResourceSpan[]> {
    if (ref === 'last') return this.search({});
    const named = /^[0-9a-f]{32}$/i.test(ref) ? await this.trace(ref.toLowerCase()) : [];
    const found = [...named];
    for (const key of [ATTRIBUTES.sessionId, ATTRIBUTES.runId]) {
      if (runIds(found).size > 0) break;
      const answer = await this.search({}, { [key]: ref.slice(0, MAX_SEARCHABLE) });
      // Versions that know no filter answer with everything: then nothing more can be asked.
      if (answer.some((span) => attribute(span, key) !== ref)) return answer;
      found.push(...answer);
    }
    for (const run of runIds(found)) {
      const answer = await this.search({}, { [ATTRIBUTES.runId]: run });
      found.push(...answer.filter((span) => attribute(span, ATTRIBUTES.runId) === run));
    }
    return found;
  }

  private async trace(id: string): Promise<ResourceSpan[]> {
    const answer = await this.get(`/api/v3/traces/${id}?rawTraces=true&raw_traces=true`);
    if (answer.status === 200) return ours(readOtlpJson(answer.json));
    const old = await this.get(`/api/traces/${id}?raw=true`);
    if (old.status === 200) return ours(readJaegerJson(old.json));
    if (answer.status === 404 || old.status === 404) return [];
    throw this.refused(answer);
  }

  async search(query: SourceQuery, attributes?: Record<string, string>): Promise<ResourceSpan[]> {
    const services = query.service === undefined ? await this.services() : [query.service];
    const found: ResourceSpan[] = [];
    for (const service of services) found.push(...(await this.searchService(service, query, attributes)));
    return ours(found);
  }

  private async services(): Promise<string[]> {
    const answer = await this.get('/api/v3/services');
    const old = answer.status === 200 ? answer : await this.get('/api/services');
    if (old.status !== 200) throw this.refused(answer);
    const list = isObject(old.json) ? (old.json['services'] ?? old.json['data']) : [];
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
    const answer = await this.get(
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
        : await this.get(
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
    if (found.status !== 200) throw this.refused(found);
    return readOtlpJson(found.json);
  }

  private async get(path: string): Promise<{ status: number; json: unknown; text: string; path: string }> {
    let response: Response;
    let text: string;
    try {
      response = await fetch(`${this.base}${path}`, { signal: AbortSignal.timeout(this.options.timeoutMs) });
      text = await response.text();
    } catch (cause) {
      const reason = (cause as { cause?: Error }).cause?.message || (cause as Error).message;
      throw new ReenactError('SOURCE_UNREACHABLE', `Jaeger at ${this.base} does not answer: ${reason}`, { cause });
    }
    return { status: response.status, json: response.ok ? this.parse(text, path) : undefined, text, path };
  }

  /** The content type says nothing here: several versions send JSON as plain text. */
  private parse(text: string, path: string): unknown {
    try {
      return JSON.parse(text);
    } catch (cause) {
      throw new ReenactError('SOURCE_REFUSED', `${this.base}${pathOf(path)} answered something other than JSON`, {
        cause,
      });
    }
  }

  private refused(answer: { status: number; text: string; path: string }): ReenactError {
    const said = JSON.stringify(answer.text.slice(0, 200));
    return new ReenactError('SOURCE_REFUSED', `${this.base}${pathOf(answer.path)} answered ${answer.status}: ${said}`);
  }
}

const pathOf = (path: string): string => path.split('?', 1)[0] ?? path;

function runIds(spans: readonly ResourceSpan[]): Set<string> {
  return new Set(spans.map((span) => attribute(span, ATTRIBUTES.runId)).filter((id) => id !== undefined));
}

function attribute({ span }: ResourceSpan, key: string): string | undefined {
  return span.attributes.find((item) => item.key === key)?.value?.stringValue;
}

function ours(spans: ResourceSpan[]): ResourceSpan[] {
  return spans.filter((span) => attribute(span, ATTRIBUTES.kind) !== undefined);
}

function nameMissing(recording: Recording): Recording {
  const missing = missingCalls(recording);
  if (missing.length === 0) return recording;
  const gaps = missing.map((message) => ({ code: 'SPANS_MISSING', message }));
  return { ...recording, gaps: [...recording.gaps, ...gaps] };
}
