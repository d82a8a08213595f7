import { ATTRIBUTES, MAX_ATTRIBUTES, MAX_SEARCHABLE, PAYLOAD_CODES } from '../instrumentation/schema/attributes';
import type { AnyRecord, AttributeValue, CallRecord, ExchangeRecord } from '../instrumentation/schema/records';
import { wholeBody } from '../instrumentation/schema/whole-body';
import { FORMAT_VERSION } from '../instrumentation/schema/version';
import { partsOf } from './attribute-parts';
import { encodeChunkTable } from './chunk-table';
import { encodeHeaders } from './header-codec';
import { type OtlpAttribute, type OtlpSpan, SPAN_KIND, STATUS, toNanos, toOtlpValue } from './otlp';
import { cutText, encodePiece, type PieceInfo, sha256 } from './payload-codec';
import { type Placement, RequestChains } from './request-chains';

/** What the encoder of one process remembers between records. */
export interface EncoderState {
  readonly chains: RequestChains | undefined;
  /** Records encoded so far, and per session. */
  ordinal: number;
  readonly sessions: Map<string, number>;
}

/** `inline`: each span holds its payloads whole, without reference to an earlier one. */
export function createEncoderState(options: { inline?: boolean } = {}): EncoderState {
  return { chains: options.inline === true ? undefined : new RequestChains(), ordinal: 0, sessions: new Map() };
}

/** The record text: everything but the searchable attributes and the payloads. Short names: it is on every span. */
export interface RecordText {
  v: string;
  /** Ordinal in the process, ordinal in the session. */
  o: readonly [number, number];
  /** Exact start and end in epoch milliseconds. */
  t: readonly [number, number];
  /** The record's span id, where the span has one of its own. */
  id?: string;
  /** Searchable values that were too long or not well-formed, in full, by attribute name. */
  full?: Record<string, string>;
  /** Payload pieces by their short name. */
  p?: Record<string, PieceInfo>;
  [field: string]: unknown;
}

type Draft = {
  readonly search: [string, string][];
  readonly text: Record<string, unknown>;
  readonly payloads: [string, Buffer][];
};

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value) ?? 'null', 'utf8');

/** Turns a record into its OTLP span. Records of one process must be given in the order of their writing. */
export function encodeRecord(record: AnyRecord, state: EncoderState): OtlpSpan {
  const draft = draftOf(record, state);
  const pieces = draft.payloads.map(([key, bytes]) => [key, encodePiece(bytes)] as const);
  const full: [string, string][] = [];
  const search = draft.search.map(([key, value]): [string, string] => {
    const short = searchable(value);
    if (short !== value) full.push([key, value]);
    return [key, short];
  });
  const text: RecordText = {
    v: FORMAT_VERSION,
    o: [state.ordinal++, nextOrdinal(state, record)],
    t: times(record),
    ...draft.text,
    ...(full.length > 0 && { full: Object.fromEntries(full) }),
    ...(pieces.length > 0 && { p: Object.fromEntries(pieces.map(([key, piece]) => [PAYLOAD_CODES[key], piece.info])) }),
  };
  const recordText = JSON.stringify(text);
  const attributes: OtlpAttribute[] = search.map(([key, value]) => ({ key, value: { stringValue: value } }));
  addChunks(attributes, ATTRIBUTES.record, cutText(Buffer.from(recordText, 'utf8')));
  attributes.push({ key: ATTRIBUTES.recordCheck, value: { stringValue: recordCheck(search, recordText) } });
  for (const [key, piece] of pieces) {
    if (piece.chunks.length > 0) addChunks(attributes, key, piece.chunks);
  }
  addView(attributes, record);
  return spanOf(record, attributes);
}

function addChunks(attributes: OtlpAttribute[], key: string, chunks: readonly string[]): void {
  for (const [name, part] of partsOf(key, chunks)) attributes.push({ key: name, value: toOtlpValue(part) });
}

/** Length of the record text and hash over the searchable attributes and it. */
export function recordCheck(search: readonly (readonly [string, string])[], text: string): string {
  const lines = search.map(([key, value]) => `${key}=${value}\n`).join('');
  return `${Buffer.byteLength(text)}:${sha256(lines + text).slice(0, 32)}`;
}

/** Almost all values are such, and so need no look at their code points. */
const ASCII = /^[ -~]*$/;

function searchable(value: string): string {
  if (value.length <= MAX_SEARCHABLE && ASCII.test(value)) return value;
  const wellFormed = Buffer.from(value, 'utf8').toString('utf8');
  return wellFormed.length <= MAX_SEARCHABLE
    ? wellFormed
    : Buffer.from(wellFormed.slice(0, MAX_SEARCHABLE - 1), 'utf8').toString('utf8');
}

function nextOrdinal(state: EncoderState, record: AnyRecord): number {
  const sessionId = 'sessionId' in record ? record.sessionId : '';
  const ordinal = state.sessions.get(sessionId) ?? 0;
  state.sessions.set(sessionId, ordinal + 1);
  return ordinal;
}

function times(record: AnyRecord): readonly [number, number] {
  if (record.kind === 'process') return [record.startMs, record.startMs];
  if (record.kind === 'exit') return [record.endMs, record.endMs];
  return [record.startMs, record.endMs];
}

function draftOf(record: AnyRecord, state: EncoderState): Draft {
  const draft = record.kind === 'process' || record.kind === 'exit' ? lifeDraft(record) : sessionOrCall(record, state);
  const ambient = 'ambient' in record ? record.ambient : undefined;
  if (ambient !== undefined) addAmbient(draft, ambient);
  return draft;
}

/** A short piece of ambient log costs less inside the record text than as a payload of its own. */
const SHORT_AMBIENT = 1000;

function addAmbient(draft: Draft, ambient: readonly string[]): void {
  const bytes = json(ambient);
  if (bytes.length <= SHORT_AMBIENT) draft.text['am'] = ambient;
  else draft.payloads.push([ATTRIBUTES.ambient, bytes]);
}

function lifeDraft(record: Extract<AnyRecord, { kind: 'process' | 'exit' }>): Draft {
  const search: [string, string][] = [
    [ATTRIBUTES.kind, record.kind],
    [ATTRIBUTES.process, record.processPath],
    [ATTRIBUTES.runId, record.runId],
  ];
  const facts = Object.entries(record).filter(([field]) => !IDENTITY.has(field));
  if (record.kind === 'exit') {
    search.push([ATTRIBUTES.seqStart, String(record.seq)], [ATTRIBUTES.seqEnd, String(record.seq)]);
    return { search, text: { id: record.spanId, x: Object.fromEntries(facts) }, payloads: [] };
  }
  if (record.replayOf !== undefined) search.push([ATTRIBUTES.replayOf, record.replayOf]);
  return { search, text: { x: Object.fromEntries(facts) }, payloads: [] };
}

/** Fields of process and exit records that stand in the span or in attributes of their own. */
const IDENTITY: ReadonlySet<string> = new Set(['kind', 'traceId', 'spanId', 'runId', 'processPath', 'ambient']);

function sessionOrCall(record: Exclude<AnyRecord, { kind: 'process' | 'exit' }>, state: EncoderState): Draft {
  const session = record.kind === 'session' ? record : undefined;
  const call = record.kind === 'session' ? undefined : record;
  const search: [string, string | undefined][] = [
    [ATTRIBUTES.kind, record.kind],
    [ATTRIBUTES.sessionId, record.sessionId],
    [ATTRIBUTES.agentId, record.agentId],
    [ATTRIBUTES.process, record.processPath],
    [ATTRIBUTES.runId, record.runId],
    [ATTRIBUTES.seqStart, String(session?.seq ?? call?.seqStart)],
    [ATTRIBUTES.seqEnd, String(session?.seq ?? call?.seqEnd)],
    [ATTRIBUTES.scope, record.scope],
    [ATTRIBUTES.outcome, record.outcome],
    [ATTRIBUTES.key, call && keyOf(call)],
    [ATTRIBUTES.agentVersion, session?.agentVersion],
    [ATTRIBUTES.promptVersion, session?.promptVersion],
  ];
  const draft: Draft = {
    search: search.filter((pair): pair is [string, string] => pair[1] !== undefined),
    text: {},
    payloads: [],
  };
  if (session !== undefined) addSession(draft, session, state);
  if (call !== undefined) addCall(draft, call, state);
  return draft;
}

/** What a person searches for: the endpoint, the tool, the observed key, the decision. */
function keyOf(call: CallRecord): string {
  if (call.kind === 'tool') return call.tool;
  if (call.kind === 'observation') return call.key;
  if (call.kind === 'decision') return call.decision;
  return `${call.request.method} ${call.request.url.split('?', 1)[0]}`;
}

function addSession(draft: Draft, record: Extract<AnyRecord, { kind: 'session' }>, state: EncoderState): void {
  draft.text['ph'] = record.phase;
  if (record.phase === 'start') draft.text['id'] = record.spanId;
  if (record.parentSpanId !== undefined) draft.text['pa'] = record.parentSpanId;
  if (record.failure !== undefined) draft.text['fl'] = record.failure;
  if (record.metadata !== undefined) draft.payloads.push([ATTRIBUTES.metadata, json(record.metadata)]);
  if (record.phase === 'end') addParity(draft, state.chains?.closing(record.sessionId));
}

function addParity(draft: Draft, parity: Placement['parity']): void {
  if (parity === undefined) return;
  draft.text['fp'] = parity.note;
  draft.payloads.push([ATTRIBUTES.parity, parity.bytes]);
}

function addCall(draft: Draft, call: CallRecord, state: EncoderState): void {
  if (call.error !== undefined) {
    draft.text['er'] = call.error;
    if (call.attributes !== undefined && Object.hasOwn(call.attributes, 'error.type')) draft.text['et'] = 1;
  }
  if (searchable(call.name) !== call.name) draft.text['n'] = call.name;
  if (call.attributes !== undefined && Object.keys(call.attributes).length === 0) draft.text['a0'] = 1;
  if (call.kind === 'tool') {
    Object.assign(draft.text, { sy: call.synchronous ? 1 : 0, rp: call.replay });
    addJson(draft, {
      [ATTRIBUTES.args]: call.args,
      [ATTRIBUTES.result]: call.result,
      [ATTRIBUTES.thrown]: call.thrown,
    });
  } else if (call.kind === 'observation') {
    draft.text['sy'] = call.synchronous ? 1 : 0;
    addJson(draft, { [ATTRIBUTES.args]: call.args, [ATTRIBUTES.result]: call.value, [ATTRIBUTES.thrown]: call.thrown });
  } else if (call.kind === 'decision') {
    addJson(draft, { [ATTRIBUTES.data]: call.data });
  } else {
    addExchange(draft, call, state);
  }
}

function addJson(draft: Draft, values: Record<string, unknown>): void {
  for (const [key, value] of Object.entries(values)) if (value !== undefined) draft.payloads.push([key, json(value)]);
}

function addExchange(draft: Draft, call: ExchangeRecord, state: EncoderState): void {
  const { request, response } = call;
  const { base, diff, headerBase, parity } = state.chains?.place(call, state.ordinal) ?? {};
  draft.text['tr'] = call.transport;
  if (call.provider !== undefined) draft.text['pv'] = call.provider;
  if (headerBase !== undefined) draft.text['hb'] = headerBase.spanId;
  const pathOnly = `${request.method} ${request.url}`;
  draft.text['q'] = {
    m: request.method,
    // The key attribute already holds method and address when there is no query.
    ...(pathOnly !== keyOf(call) && { u: request.url }),
    h: encodeHeaders(request.headers, headerBase?.request),
    ...(diff !== undefined && { b: [base, diff.prefix, diff.suffix] }),
  };
  draft.payloads.push([ATTRIBUTES.requestBody, diff?.middle ?? request.body]);
  addParity(draft, parity);
  if (response === undefined) return;
  draft.text['r'] = {
    s: response.status,
    x: response.statusText,
    h: encodeHeaders(response.headers, headerBase?.response),
    ...(response.trailers.length > 0 && { tr: response.trailers }),
    q: response.headSeq,
    t: response.headMs,
    c: encodeChunkTable(response.chunks, { seq: response.headSeq, ms: response.headMs }),
  };
  draft.payloads.push([ATTRIBUTES.responseBody, wholeBody(response.chunks)]);
}

const OWN_NAMES: ReadonlySet<string> = new Set(Object.values(ATTRIBUTES));

function addView(attributes: OtlpAttribute[], record: AnyRecord): void {
  const view: Readonly<Record<string, AttributeValue>> = ('attributes' in record && record.attributes) || {};
  const error = 'error' in record ? record.error : undefined;
  if (error !== undefined && !Object.hasOwn(view, 'error.type')) {
    attributes.push({ key: 'error.type', value: { stringValue: searchable(error.code ?? error.name) } });
  }
  for (const [key, value] of Object.entries(view)) {
    if (attributes.length >= MAX_ATTRIBUTES) return;
    if (!OWN_NAMES.has(key)) attributes.push({ key, value: toOtlpValue(value) });
  }
}

function spanOf(record: AnyRecord, attributes: OtlpAttribute[]): OtlpSpan {
  const [start, end] = times(record);
  const error = 'error' in record ? record.error : undefined;
  const failed = error !== undefined || ('failure' in record && record.failure !== undefined) || isFailure(record);
  const parent = isMarker(record) ? record.spanId : 'parentSpanId' in record ? record.parentSpanId : undefined;
  return {
    traceId: record.traceId,
    spanId: isMarker(record) ? markerId(record) : record.spanId,
    ...(parent !== undefined && { parentSpanId: parent }),
    name: nameOf(record),
    kind: record.kind === 'llm' || record.kind === 'http' ? SPAN_KIND.client : SPAN_KIND.internal,
    startTimeUnixNano: toNanos(start),
    endTimeUnixNano: toNanos(end),
    attributes,
    ...(failed && {
      status: { code: STATUS.error, ...(error !== undefined && { message: searchable(error.message) }) },
    }),
  };
}

/** The second span about one thing (a session's start, a process's exit) has an id of its own: backends drop doubles. */
function isMarker(record: AnyRecord): record is Extract<AnyRecord, { kind: 'session' | 'exit' }> {
  return record.kind === 'exit' || (record.kind === 'session' && record.phase === 'start');
}

function markerId(record: AnyRecord): string {
  return sha256(`${record.kind} ${record.traceId} ${record.spanId}`).slice(0, 16);
}

const isFailure = (record: AnyRecord): boolean =>
  record.kind !== 'session' && record.kind !== 'process' && record.kind !== 'exit' && record.outcome === 'error';

function nameOf(record: AnyRecord): string {
  if (record.kind === 'process') return 'process';
  if (record.kind === 'exit') return 'process exit';
  if (record.kind === 'session')
    return searchable(record.phase === 'start' ? 'session start' : `session ${record.sessionId}`);
  return searchable(record.name);
}
