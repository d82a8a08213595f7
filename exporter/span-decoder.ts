import { ATTRIBUTES, GAP_ATTRIBUTE } from '../instrumentation/schema/attributes';
import type {
  AnyRecord,
  AttributeValue,
  CallRecord,
  Gap,
  ProcessExitRecord,
  ProcessRecord,
  Recording,
  SessionRecord,
} from '../instrumentation/schema/records';
import { FORMAT_VERSION, READABLE_FORMAT_VERSIONS } from '../instrumentation/schema/version';
import { joinParts } from './attribute-parts';
import { decodeCall, decodeLife, decodeSession } from './decode-record';
import { ExchangeBodies } from './exchange-bodies';
import { LostRequests } from './lost-requests';
import { fromOtlpValue, normaliseSpan, type OtlpSpan, type ResourceSpan } from './otlp';
import { chunkForms, likelyLimit } from './payload-codec';
import { recordCheck, type RecordText } from './span-encoder';
import type { ReadSpan, ReportGap } from './read-span';

/** Reads one run back from spans. Spans of other runs among them are named as a gap. Never throws. */
export function decodeSpans(spans: Iterable<ResourceSpan>): Recording {
  const [first, ...others] = decodeRuns(spans);
  if (first === undefined) return emptyRecording('');
  const gaps = others.map((other) => ({
    code: 'PAYLOAD_DAMAGED',
    message: `the spans hold another run, ${other.runId}, with ${other.calls.length} calls, which is left out`,
  }));
  return { ...first, gaps: [...first.gaps, ...gaps] };
}

/** Reads all runs back from spans, those with most calls first. Never throws. */
export function decodeRuns(spans: Iterable<ResourceSpan>): Recording[] {
  const runs = new Map<string, ReadSpan[]>();
  const gaps: Gap[] = [];
  const seen = new Set<string>();
  const report: ReportGap = ({ spanId, sessionId }, message) =>
    void gaps.push({ code: 'PAYLOAD_DAMAGED', message, spanId, ...(sessionId !== undefined && { sessionId }) });
  for (const { span: raw } of spans) {
    const span = normaliseSpan(raw);
    const id = `${span.traceId} ${span.spanId}`;
    if (seen.has(id)) continue;
    const read = readSpan(span, report);
    if (read === undefined) continue;
    seen.add(id);
    const runId = read.search(ATTRIBUTES.runId) ?? '';
    const list = runs.get(runId);
    if (list === undefined) runs.set(runId, [read]);
    else list.push(read);
  }
  const recordings = [...runs].map(([runId, list]) => assemble(runId, list));
  recordings.sort((a, b) => b.calls.length - a.calls.length);
  if (gaps.length === 0) return recordings;
  const [first = emptyRecording(''), ...rest] = recordings;
  return [{ ...first, gaps: [...gaps, ...first.gaps] }, ...rest];
}

function emptyRecording(runId: string): Recording {
  return {
    formatVersion: FORMAT_VERSION,
    runId,
    processes: [],
    exits: [],
    sessions: [],
    calls: [],
    ambient: [],
    gaps: [],
  };
}

/** `undefined` for spans that are not ours, and, with a gap, for those that cannot be read. */
function readSpan(span: OtlpSpan, report: ReportGap): ReadSpan | undefined {
  const attributes = new Map<string, AttributeValue>();
  for (const { key, value } of span.attributes) {
    const plain = fromOtlpValue(value);
    if (plain !== undefined) attributes.set(key, plain);
  }
  joinParts(attributes);
  const kind = attributes.get(ATTRIBUTES.kind);
  const stored = attributes.get(ATTRIBUTES.record);
  if (kind === undefined && stored === undefined) return undefined;
  const where = { spanId: span.spanId, sessionId: stringOf(attributes.get(ATTRIBUTES.sessionId)) };
  const check = String(attributes.get(ATTRIBUTES.recordCheck) ?? '');
  const search = SEARCHED.flatMap((key): [string, string][] => {
    const value = attributes.get(key);
    return value === undefined ? [] : [[key, String(value)]];
  });
  for (const chunks of chunkForms(stored)) {
    const joined = chunks.join('');
    if (recordCheck(search, joined) !== check) continue;
    const text = parseText(joined);
    if (text === undefined) break;
    if (!READABLE_FORMAT_VERSIONS.includes(text.v)) {
      report(where, `span ${span.spanId}: format version ${JSON.stringify(text.v)} is not known here`);
      return undefined;
    }
    return {
      span,
      kind: String(kind),
      attributes,
      text,
      search: (key) => text.full?.[key] ?? stringOf(attributes.get(key)),
    };
  }
  const found = Buffer.byteLength(chunkForms(stored)[0]?.join('') ?? '');
  report(
    where,
    `span ${span.spanId} (${String(kind)} ${JSON.stringify(span.name)}): ${ATTRIBUTES.record} is damaged, expected ` +
      `${check.split(':')[0] || 'unknown'} bytes, found ${found}; ${likelyLimit(stored, String(found) === check.split(':')[0])}`,
  );
  return undefined;
}

/** In the order in which the encoder writes and hashes them. */
const SEARCHED = [
  ATTRIBUTES.kind,
  ATTRIBUTES.sessionId,
  ATTRIBUTES.agentId,
  ATTRIBUTES.process,
  ATTRIBUTES.runId,
  ATTRIBUTES.seqStart,
  ATTRIBUTES.seqEnd,
  ATTRIBUTES.scope,
  ATTRIBUTES.outcome,
  ATTRIBUTES.key,
  ATTRIBUTES.agentVersion,
  ATTRIBUTES.promptVersion,
  ATTRIBUTES.replayOf,
] as const;

const stringOf = (value: AttributeValue | undefined): string | undefined =>
  value === undefined ? undefined : String(value);

function parseText(text: string): RecordText | undefined {
  try {
    const parsed = JSON.parse(text) as Partial<RecordText> | null;
    const ok =
      typeof parsed === 'object' &&
      parsed !== null &&
      isPair(parsed.o) &&
      isPair(parsed.t) &&
      typeof parsed.v === 'string';
    return ok ? (parsed as RecordText) : undefined;
  } catch {
    // The caller names the damage.
    return undefined;
  }
}

const isPair = (value: unknown): boolean =>
  Array.isArray(value) && value.length === 2 && value.every((item) => typeof item === 'number');

function assemble(runId: string, spans: ReadSpan[]): Recording {
  const gaps: Gap[] = [];
  const report: ReportGap = ({ spanId, sessionId }, message) =>
    void gaps.push({ code: 'PAYLOAD_DAMAGED', message, spanId, ...(sessionId !== undefined && { sessionId }) });
  spans.sort((a, b) => byPath(path(a), path(b)) || a.text.o[0] - b.text.o[0]);
  nameHoles(spans, gaps);
  const bodies = new ExchangeBodies(new LostRequests(spans));
  const records: { read: ReadSpan; record: AnyRecord }[] = [];
  for (const read of spans) {
    const record = decode(read, bodies, report);
    if (record !== undefined) records.push({ read, record });
  }
  const all = records.map(({ record }) => record);
  const calls = all.filter(isCall);
  calls.sort((a, b) => byPath(a.processPath, b.processPath) || a.seqStart - b.seqStart);
  gaps.push(...calls.flatMap(namedGap));
  const sessions = all.filter((record): record is SessionRecord => record.kind === 'session');
  return {
    formatVersion: spans[0]?.text.v ?? FORMAT_VERSION,
    runId,
    processes: all.filter((record): record is ProcessRecord => record.kind === 'process'),
    // A process that went on after its first end writes its end again.
    exits: lastOf(
      all.filter((record): record is ProcessExitRecord => record.kind === 'exit'),
      (exit) => exit.processPath,
    ),
    sessions: lastOf(
      sessions,
      ({ processPath, sessionId, scope, phase }) => `${processPath}\n${sessionId}\n${scope}\n${phase}`,
    ),
    calls,
    ambient: all.flatMap((record) => {
      const lines = 'ambient' in record ? record.ambient : undefined;
      if (lines === undefined) return [];
      return [{ processPath: record.processPath, sessionId: 'sessionId' in record ? record.sessionId : '', lines }];
    }),
    gaps,
  };
}

/** What the recorder itself could not carry. */
function namedGap({ attributes, spanId, sessionId, name }: CallRecord): Gap[] {
  const what = attributes?.[GAP_ATTRIBUTE];
  return typeof what === 'string' ? [{ code: 'VALUE_LOST', message: `${name}: ${what}`, spanId, sessionId }] : [];
}

/** The last item of each key, in order. */
function lastOf<T>(items: readonly T[], key: (item: T) => string): T[] {
  return [...new Map(items.map((item) => [key(item), item])).values()];
}

const path = (read: ReadSpan): string => read.search(ATTRIBUTES.process) ?? '';

const isCall = (record: AnyRecord): record is CallRecord =>
  record.kind !== 'session' && record.kind !== 'process' && record.kind !== 'exit';

/** `0.10` comes after `0.9`. */
export function byPath(a: string, b: string): number {
  const [left, right] = [a.split('.'), b.split('.')];
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const order = Number(left[i] ?? -1) - Number(right[i] ?? -1);
    if (order !== 0 && !Number.isNaN(order)) return order;
  }
  return a < b ? -1 : a > b ? 1 : 0;
}

function decode(read: ReadSpan, bodies: ExchangeBodies, report: ReportGap): AnyRecord | undefined {
  const where = { spanId: read.span.spanId, sessionId: read.search(ATTRIBUTES.sessionId) };
  try {
    if (read.kind === 'process' || read.kind === 'exit') return decodeLife(read, report);
    if (read.kind === 'session') return decodeSession(read, report);
    if (['llm', 'http', 'tool', 'observation', 'decision'].includes(read.kind)) return decodeCall(read, bodies, report);
    report(where, `span ${read.span.spanId}: kind ${JSON.stringify(read.kind)} is not known here`);
  } catch (error) {
    // Only a forged record text gets here: its hash is right and its fields are not.
    report(where, `span ${read.span.spanId}: the record text cannot be read (${String(error)})`);
  }
  return undefined;
}

/** Most missing ordinals that are named one by one. */
const MAX_NAMED = 20;

/** Names spans that did not come back: the ordinals of a session in one process have no holes. */
function nameHoles(spans: readonly ReadSpan[], gaps: Gap[]): void {
  const sessions = new Map<string, { sessionId: string; process: string; ordinals: Set<number> }>();
  for (const read of spans) {
    const sessionId = read.search(ATTRIBUTES.sessionId) ?? '';
    const id = `${path(read)}\n${sessionId}`;
    const entry = sessions.get(id) ?? { sessionId, process: path(read), ordinals: new Set() };
    entry.ordinals.add(read.text.o[1]);
    sessions.set(id, entry);
  }
  for (const { sessionId, process, ordinals } of sessions.values()) {
    const last = [...ordinals].reduce((a, b) => Math.max(a, b), 0);
    const lost = last + 1 - ordinals.size;
    if (lost <= 0) continue;
    const named: number[] = [];
    for (let i = 0; i < last && named.length < Math.min(lost, MAX_NAMED); i++) if (!ordinals.has(i)) named.push(i + 1);
    gaps.push({
      code: 'PAYLOAD_DAMAGED',
      message:
        `${lost} of ${last + 1} spans of ${sessionId === '' ? 'the prelude' : `session ${JSON.stringify(sessionId)}`} ` +
        `in process ${process} did not come back: number ${named.join(', ')}${lost > named.length ? ', …' : ''}`,
      sessionId,
    });
  }
}
