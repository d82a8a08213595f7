import { ATTRIBUTES, PAYLOAD_CODES } from '../instrumentation/schema/attributes';
import type {
  AttributeValue,
  CallIdentity,
  CallRecord,
  Outcome,
  ProcessExitRecord,
  ProcessRecord,
  SessionRecord,
  WireRequest,
  WireResponse,
} from '../instrumentation/schema/records';
import { decodeChunkTable } from './chunk-table';
import type { ExchangeBodies } from './exchange-bodies';
import { decodeHeaders } from './header-codec';
import { decodePiece, type PieceInfo } from './payload-codec';
import type { ReadSpan, ReportGap } from './read-span';

/** Reads a process or exit record. */
export function decodeLife(read: ReadSpan, report: ReportGap): ProcessRecord | ProcessExitRecord | undefined {
  const facts = read.text['x'];
  if (typeof facts !== 'object' || facts === null) return damaged(read, report, 'the facts of the process');
  const head = {
    traceId: read.span.traceId,
    spanId: read.text.id ?? read.span.spanId,
    runId: read.search(ATTRIBUTES.runId) ?? '',
    processPath: read.search(ATTRIBUTES.process) ?? '',
  };
  if (read.kind === 'process') {
    if (!isProcess(facts as Partial<ProcessRecord>)) return damaged(read, report, 'the facts of the process');
    return { ...(facts as ProcessRecord), kind: 'process', ...head };
  }
  return { ...(facts as ProcessExitRecord), kind: 'exit', ...head, ...ambientOf(read, report) };
}

/** The fields that readers rely on: a forged recording may have a right hash and wrong fields. */
function isProcess(facts: Partial<ProcessRecord>): boolean {
  const texts = (list: unknown): boolean => Array.isArray(list) && list.every((item) => typeof item === 'string');
  return (
    texts(facts.argv) &&
    texts(facts.execArgv) &&
    typeof facts.cwd === 'string' &&
    typeof facts.startMs === 'number' &&
    typeof facts.defaultSessionId === 'string' &&
    typeof facts.env === 'object' &&
    facts.env !== null
  );
}

/** Reads a session record. */
export function decodeSession(read: ReadSpan, report: ReportGap): SessionRecord | undefined {
  const metadata = jsonOf(read, ATTRIBUTES.metadata, report);
  const optional = {
    agentId: read.search(ATTRIBUTES.agentId),
    agentVersion: read.search(ATTRIBUTES.agentVersion),
    promptVersion: read.search(ATTRIBUTES.promptVersion),
    outcome: read.search(ATTRIBUTES.outcome),
    parentSpanId: read.text['pa'],
    failure: read.text['fl'],
    metadata: metadata?.value,
  };
  return {
    kind: 'session',
    phase: read.text['ph'] === 'start' ? 'start' : 'end',
    ...place(read),
    seq: Number(read.search(ATTRIBUTES.seqStart)),
    ...defined(optional),
    ...ambientOf(read, report),
  } as SessionRecord;
}

function place(read: ReadSpan) {
  return {
    traceId: read.span.traceId,
    spanId: read.text.id ?? read.span.spanId,
    runId: read.search(ATTRIBUTES.runId) ?? '',
    processPath: read.search(ATTRIBUTES.process) ?? '',
    sessionId: read.search(ATTRIBUTES.sessionId) ?? '',
    scope: read.search(ATTRIBUTES.scope) ?? '',
    startMs: read.text.t[0],
    endMs: read.text.t[1],
  };
}

const defined = (values: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));

/** Reads a call record; `undefined`, with the gap named, when a payload of it is missing or damaged. */
export function decodeCall(read: ReadSpan, bodies: ExchangeBodies, report: ReportGap): CallRecord | undefined {
  const identity = identityOf(read, report);
  if (read.kind === 'llm' || read.kind === 'http') return decodeExchange(read, identity, { bodies, report });
  const damage = { any: false };
  const payload = (name: string, key: string): Record<string, unknown> => {
    if (pieceOf(read, key) === undefined) return {};
    const json = jsonOf(read, key, report);
    if (json === undefined) damage.any = true;
    return json === undefined ? {} : { [name]: json.value };
  };
  const key = read.search(ATTRIBUTES.key) ?? '';
  const synchronous = read.text['sy'] === 1;
  const fields = (): Record<string, unknown> => {
    if (read.kind === 'decision') return { decision: key, ...payload('data', ATTRIBUTES.data) };
    const shared = { ...payload('args', ATTRIBUTES.args), ...payload('thrown', ATTRIBUTES.thrown), synchronous };
    if (read.kind === 'observation') return { key, ...shared, ...payload('value', ATTRIBUTES.result) };
    const replay = read.text['rp'] === 'run' ? 'run' : 'substitute';
    return { tool: key, ...shared, ...payload('result', ATTRIBUTES.result), replay };
  };
  const record = { ...identity, ...fields() } as unknown as CallRecord;
  return damage.any ? undefined : record;
}

function identityOf(read: ReadSpan, report: ReportGap): CallIdentity {
  const attributes = viewOf(read);
  return {
    kind: read.kind,
    ...place(read),
    seqStart: Number(read.search(ATTRIBUTES.seqStart)),
    seqEnd: Number(read.search(ATTRIBUTES.seqEnd)),
    outcome: (read.search(ATTRIBUTES.outcome) ?? 'open') as Outcome,
    name: typeof read.text['n'] === 'string' ? read.text['n'] : read.span.name,
    ...defined({
      parentSpanId: read.span.parentSpanId,
      agentId: read.search(ATTRIBUTES.agentId),
      error: read.text['er'],
      attributes,
    }),
    ...ambientOf(read, report),
  } as CallIdentity;
}

const OWN_NAMES: ReadonlySet<string> = new Set(Object.values(ATTRIBUTES));

function viewOf(read: ReadSpan): Record<string, AttributeValue> | undefined {
  const entries = [...read.attributes].filter(
    ([key]) => !OWN_NAMES.has(key) && (key !== 'error.type' || read.text['er'] === undefined || read.text['et'] === 1),
  );
  return entries.length === 0 && read.text['a0'] !== 1 ? undefined : Object.fromEntries(entries);
}

function ambientOf(read: ReadSpan, report: ReportGap): { ambient?: readonly string[] } {
  const short = read.text['am'];
  if (Array.isArray(short)) return { ambient: short.map(String) };
  if (pieceOf(read, ATTRIBUTES.ambient) === undefined) return {};
  const json = jsonOf(read, ATTRIBUTES.ambient, report);
  return Array.isArray(json?.value) ? { ambient: json.value.map(String) } : {};
}

const pieceOf = (read: ReadSpan, key: string): PieceInfo | undefined => read.text.p?.[PAYLOAD_CODES[key] ?? ''];

function jsonOf(read: ReadSpan, key: string, report: ReportGap): { value: unknown } | undefined {
  if (pieceOf(read, key) === undefined) return undefined;
  const bytes = bytesOf(read, key, report);
  return bytes === undefined ? undefined : { value: JSON.parse(bytes.toString('utf8')) as unknown };
}

function bytesOf(read: ReadSpan, key: string, report: ReportGap): Buffer | undefined {
  const info = pieceOf(read, key);
  if (info === undefined) return damaged(read, report, `${key} has no length`);
  const bytes = decodePiece(info, read.attributes.get(key));
  if (Buffer.isBuffer(bytes)) return bytes;
  const { expected, found, limit } = bytes;
  return damaged(read, report, `${key} is damaged, expected ${expected} bytes, found ${found}; ${limit}`);
}

/** What a backend cut of a request may stand in the parity of a later span. */
function requestBytes(read: ReadSpan, bodies: ExchangeBodies, report: ReportGap): Buffer | undefined {
  const info = pieceOf(read, ATTRIBUTES.requestBody);
  const bytes = info && decodePiece(info, read.attributes.get(ATTRIBUTES.requestBody));
  if (Buffer.isBuffer(bytes)) return bytes;
  return bodies.restored(read.span.spanId) ?? bytesOf(read, ATTRIBUTES.requestBody, report);
}

function damaged(read: ReadSpan, report: ReportGap, what: string): undefined {
  const name = `span ${read.span.spanId} (${read.kind} ${JSON.stringify(read.span.name)})`;
  report({ spanId: read.span.spanId, sessionId: read.search(ATTRIBUTES.sessionId) }, `${name}: ${what}`);
  return undefined;
}

interface Stored {
  [field: string]: unknown;
}

function decodeExchange(
  read: ReadSpan,
  identity: CallIdentity,
  { bodies, report }: { bodies: ExchangeBodies; report: ReportGap },
): CallRecord | undefined {
  const spanId = read.span.spanId;
  const headerBase = read.text['hb'];
  const base = typeof headerBase === 'string' ? bodies.getHeaders(headerBase) : undefined;
  const stored = read.text['q'] as Stored;
  const requestHeaders = decodeHeaders(stored['h'], base?.request);
  const storedResponse = read.text['r'] as Stored | undefined;
  const responseHeaders = storedResponse && decodeHeaders(storedResponse['h'], base?.response);
  if (requestHeaders !== undefined) bodies.setHeaders(spanId, requestHeaders, responseHeaders);
  const middle = requestBytes(read, bodies, report);
  const placed = middle !== undefined && bodies.add(spanId, middle, stored['b']);
  if (middle !== undefined && !placed) {
    const on = Array.isArray(stored['b']) ? String(stored['b'][0]) : 'unknown';
    damaged(read, report, `its request builds on span ${on}, which is missing or damaged`);
  }
  if (requestHeaders === undefined || (storedResponse !== undefined && responseHeaders === undefined)) {
    return damaged(read, report, `its headers build on span ${String(headerBase)}, which is missing or damaged`);
  }
  const response =
    storedResponse && responseHeaders
      ? decodeResponse(read, { stored: storedResponse, headers: responseHeaders }, report)
      : undefined;
  if (!placed || (storedResponse !== undefined && response === undefined)) return undefined;
  const method = String(stored['m']);
  const key = read.search(ATTRIBUTES.key) ?? '';
  const request: WireRequest = {
    method,
    url: typeof stored['u'] === 'string' ? stored['u'] : key.slice(method.length + 1),
    headers: requestHeaders,
    get body() {
      return bodies.get(spanId);
    },
  };
  return {
    ...identity,
    kind: read.kind as 'llm' | 'http',
    transport: read.text['tr'] === 'node-http' ? 'node-http' : 'undici',
    ...(typeof read.text['pv'] === 'string' && { provider: read.text['pv'] }),
    request,
    ...(response !== undefined && { response }),
  };
}

function decodeResponse(
  read: ReadSpan,
  { stored, headers }: { stored: Stored; headers: WireResponse['headers'] },
  report: ReportGap,
): WireResponse | undefined {
  const body = bytesOf(read, ATTRIBUTES.responseBody, report);
  if (body === undefined) return undefined;
  const head = { seq: Number(stored['q']), ms: Number(stored['t']) };
  const chunks = decodeChunkTable(stored['c'], body, head);
  if (chunks === undefined) return damaged(read, report, 'the table of response chunks does not fit the body');
  return {
    status: Number(stored['s']),
    statusText: String(stored['x'] ?? ''),
    headers,
    headSeq: head.seq,
    headMs: head.ms,
    chunks,
    trailers: decodeHeaders(stored['tr'] ?? []) ?? [],
  };
}
