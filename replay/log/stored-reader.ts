import { ReenactError } from '../../instrumentation/schema/errors';
import type { ExecutionTurn } from '../../instrumentation/schema/execution-log';
import type {
  CallRecord,
  Gap,
  HeaderList,
  ProcessExitRecord,
  ProcessRecord,
  Recording,
  SessionRecord,
  WireChunk,
} from '../../instrumentation/schema/records';
import { READABLE_FORMAT_VERSIONS } from '../../instrumentation/schema/version';
import { Checked, type JsonObject } from './checked';
import { BytesReader } from './stored-bytes';

/** A piece of the ambient log with its position in the run. */
export interface PlacedAmbient {
  readonly at: number;
  readonly processPath: string;
  readonly sessionId: string;
  readonly lines: readonly string[];
}

/** Reads the `recording` of a log: untrusted, so every field that anything relies on is checked. */
export function readStored(
  stored: unknown,
  turns: readonly ExecutionTurn[],
): { recording: Recording; ambient: PlacedAmbient[] } {
  const checked = new Checked(stored, 'recording');
  const formatVersion = checked.string('formatVersion');
  if (!READABLE_FORMAT_VERSIONS.includes(formatVersion))
    throw new ReenactError('LOG_VERSION_UNSUPPORTED', `the recording has format ${JSON.stringify(formatVersion)}`);
  const bytes = new BytesReader(turns);
  const ambient = checked.objects('ambient').map((piece) => ({
    at: piece.integer('at'),
    processPath: piece.string('processPath'),
    sessionId: piece.string('sessionId'),
    lines: piece.strings('lines'),
  }));
  const recording: Recording = {
    formatVersion,
    runId: checked.string('runId'),
    processes: checked.objects('processes').map(readProcess),
    exits: checked.objects('exits').map(readExit),
    sessions: checked.objects('sessions').map(readSession),
    calls: checked.objects('calls').map((call) => readCall(call, bytes)),
    ambient: ambient.map(({ processPath, sessionId, lines }) => ({ processPath, sessionId, lines })),
    gaps: checked.objects('gaps').map(readGap),
  };
  return { recording, ambient };
}

type FieldKind = 'string' | 'number' | 'string?' | 'object?' | 'strings' | 'object';

/** Checks the listed fields and gives the object back with its own keys only. */
function checkFields<T>(checked: Checked, fields: Readonly<Record<string, FieldKind>>): T {
  for (const [field, kind] of Object.entries(fields)) {
    if (kind.endsWith('?') && !checked.has(field)) continue;
    if (kind.startsWith('string') && kind !== 'strings') checked.string(field);
    else if (kind === 'strings') checked.strings(field);
    else if (kind === 'number') checked.number(field);
    else checked.object(field);
  }
  return Object.fromEntries(Object.entries(checked.value).filter(([key]) => key !== '__proto__')) as T;
}

const SPAN: Readonly<Record<string, FieldKind>> = {
  traceId: 'string',
  spanId: 'string',
  runId: 'string',
  processPath: 'string',
};

function readProcess(checked: Checked): ProcessRecord {
  checked.oneOf('kind', ['process']);
  return checkFields<ProcessRecord>(checked, {
    ...SPAN,
    pid: 'number',
    startMs: 'number',
    hrtimeOrigin: 'string?',
    argv: 'strings',
    execArgv: 'strings',
    cwd: 'string',
    command: 'object?',
    nodeVersion: 'string',
    platform: 'string',
    env: 'object',
    seed: 'string?',
    formatVersion: 'string',
    replayOf: 'string?',
    defaultSessionId: 'string',
  });
}

function readExit(checked: Checked): ProcessExitRecord {
  checked.oneOf('kind', ['exit']);
  return checkFields<ProcessExitRecord>(checked, {
    ...SPAN,
    endMs: 'number',
    exitCode: 'number',
    seq: 'number',
    stdout: 'object?',
    stderr: 'object?',
    calls: 'number',
    failures: 'object?',
  });
}

function readSession(checked: Checked): SessionRecord {
  checked.oneOf('kind', ['session']);
  checked.oneOf('phase', ['start', 'end']);
  return checkFields<SessionRecord>(checked, {
    ...SPAN,
    sessionId: 'string',
    scope: 'string',
    agentId: 'string?',
    agentVersion: 'string?',
    promptVersion: 'string?',
    startMs: 'number',
    endMs: 'number',
    seq: 'number',
    failure: 'string?',
  });
}

const CALL: Readonly<Record<string, FieldKind>> = {
  ...SPAN,
  parentSpanId: 'string?',
  sessionId: 'string',
  agentId: 'string?',
  scope: 'string',
  seqStart: 'number',
  seqEnd: 'number',
  startMs: 'number',
  endMs: 'number',
  name: 'string',
  error: 'object?',
  attributes: 'object?',
};

const CALL_FIELDS: Readonly<Record<CallRecord['kind'], Readonly<Record<string, FieldKind>>>> = {
  llm: { ...CALL, provider: 'string?', request: 'object', response: 'object?' },
  http: { ...CALL, provider: 'string?', request: 'object', response: 'object?' },
  tool: { ...CALL, tool: 'string' },
  observation: { ...CALL, key: 'string' },
  decision: { ...CALL, decision: 'string' },
};

function readCall(checked: Checked, bytes: BytesReader): CallRecord {
  const kind = checked.oneOf('kind', ['llm', 'http', 'tool', 'observation', 'decision'] as const);
  checked.oneOf('outcome', ['ok', 'error', 'aborted', 'cut', 'open']);
  if (kind === 'tool') checked.oneOf('replay', ['substitute', 'run']);
  if (kind === 'tool' || kind === 'observation') checked.boolean('synchronous');
  if (checked.has('error'))
    checkFields(checked.object('error'), { name: 'string', message: 'string', code: 'string?' });
  const call = checkFields<JsonObject>(checked, CALL_FIELDS[kind]);
  if (kind !== 'llm' && kind !== 'http') return call as unknown as CallRecord;
  const span = checked.string('spanId');
  checked.oneOf('transport', ['undici', 'node-http']);
  return {
    ...call,
    request: readRequest(checked.object('request'), bytes, span),
    ...(checked.has('response') && { response: readResponse(checked.object('response'), bytes, span) }),
  } as unknown as CallRecord;
}

function readRequest(checked: Checked, bytes: BytesReader, span: string) {
  return {
    method: checked.string('method'),
    url: checked.string('url'),
    headers: readHeaders(checked, 'headers'),
    body: bytes.request(checked.value['body'], span),
  };
}

function readResponse(checked: Checked, bytes: BytesReader, span: string) {
  const body = bytes.read(checked.value['body'], `response of span ${span}`);
  return {
    status: checked.integer('status'),
    statusText: checked.string('statusText'),
    headers: readHeaders(checked, 'headers'),
    headSeq: checked.number('headSeq'),
    headMs: checked.number('headMs'),
    chunks: readChunks(checked, body, span),
    trailers: readHeaders(checked, 'trailers'),
  };
}

function readHeaders(checked: Checked, field: string): HeaderList {
  return checked.array(field).map((pair) => {
    const [name, value] = Array.isArray(pair) ? (pair as unknown[]) : [];
    if (typeof name !== 'string' || typeof value !== 'string')
      throw new ReenactError('LOG_INVALID', `a header is not a pair of strings`);
    return [name, value] as const;
  });
}

function readChunks(checked: Checked, body: Buffer, span: string): WireChunk[] {
  const table = checked.array('chunks');
  const absolute = checked.has('msChunks');
  const chunks: WireChunk[] = [];
  let offset = 0;
  let seq = 0;
  let time = 0;
  for (let index = 0; index + 2 < table.length; index += 3) {
    const [length, seqStep, timeStep] = table.slice(index, index + 3) as number[];
    if (!Number.isSafeInteger(length) || Number(length) < 0 || !Number.isFinite(seqStep) || !Number.isFinite(timeStep))
      throw new ReenactError('LOG_INVALID', `the chunk table of span ${span} holds something other than numbers`);
    seq += Number(seqStep);
    time = absolute ? Number(timeStep) : time + Number(timeStep);
    chunks.push({ seq, ms: absolute ? time : time / 1000, bytes: body.subarray(offset, offset + Number(length)) });
    offset += Number(length);
  }
  if (offset !== body.length)
    throw new ReenactError('PAYLOAD_DAMAGED', `the chunks of span ${span} cover ${offset} of ${body.length} bytes`);
  return chunks;
}

function readGap(checked: Checked): Gap {
  return checkFields<Gap>(checked, { code: 'string', message: 'string', spanId: 'string?', sessionId: 'string?' });
}
