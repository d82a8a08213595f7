import type { ExecutionTurn, StoredRecording } from '../../instrumentation/schema/execution-log';
import type { AttributeValue, CallRecord, ExchangeRecord, Recording } from '../../instrumentation/schema/records';
import type { JsonObject } from './checked';
import { sessionPart, type SessionPart } from './session-part';
import { storeBytes, type StoredBytes } from './stored-bytes';
import { readStored } from './stored-reader';

/**
 * The JSON form of one session of a run, with the prelude of its processes. `turns` are the readable turns of the log
 * that it stands in: bodies that are the JSON of a turn are stored as a reference to it.
 */
export function toStored(
  recording: Recording,
  sessionId: string,
  turns: readonly ExecutionTurn[] = [],
): StoredRecording {
  return storePart(recording, sessionPart(recording, sessionId), turns);
}

/**
 * The inverse of `toStored`; `turns` are those of the same log. Every body is checked against its length and hash.
 * @throws ReenactError LOG_INVALID, LOG_TAMPERED, LOG_VERSION_UNSUPPORTED, PAYLOAD_DAMAGED
 */
export function fromStored(stored: StoredRecording, turns: readonly ExecutionTurn[] = []): Recording {
  return readStored(stored, turns).recording;
}

/** `toStored` for a session that has already been cut out of its run. */
export function storePart(recording: Recording, part: SessionPart, turns: readonly ExecutionTurn[]): StoredRecording {
  const state = new StoreState(turns);
  return {
    formatVersion: recording.formatVersion,
    runId: recording.runId,
    sessionId: part.sessionId,
    processes: part.processes,
    exits: part.exits.map(withoutAmbient),
    sessions: part.sessions.map(withoutAmbient),
    calls: part.calls.map((call) => storeCall(call, state)),
    ambient: part.ambient,
    gaps: recording.gaps.filter(
      (gap) => gap.sessionId === undefined || gap.sessionId === '' || gap.sessionId === part.sessionId,
    ),
  };
}

/** The recording's own list holds every piece, those that rode on other sessions' spans too. */
function withoutAmbient<T extends { readonly ambient?: readonly string[] }>(record: T): T {
  if (record.ambient === undefined) return record;
  const copy = { ...record };
  delete (copy as { ambient?: readonly string[] }).ambient;
  return copy;
}

/** What has been stored of a log so far. */
class StoreState {
  private readonly turnOfSpan = new Map<string, number>();
  private readonly lastOnPath = new Map<string, { span: string; bytes: Buffer }>();

  constructor(readonly turns: readonly ExecutionTurn[]) {
    for (const [index, turn] of turns.entries()) {
      for (const span of turn.spanIds ?? []) this.turnOfSpan.set(span, index);
    }
  }

  turnOf(call: CallRecord): { number: number; turn: ExecutionTurn } | undefined {
    const index = this.turnOfSpan.get(call.spanId);
    const turn = index === undefined ? undefined : this.turns[index];
    return index === undefined || turn === undefined ? undefined : { number: index + 1, turn };
  }

  requestBody(call: ExchangeRecord): StoredBytes {
    const url = call.request.url.split('?', 1)[0] ?? '';
    const path = `${call.processPath} ${url}`;
    const earlier = this.lastOnPath.get(path);
    const own = this.turnOf(call);
    if (call.request.body.length > 0) this.lastOnPath.set(path, { span: call.spanId, bytes: call.request.body });
    return storeBytes(call.request.body, {
      ...(own !== undefined && { readable: { turn: own.number, part: 'request', value: own.turn.request } }),
      ...(earlier !== undefined && { earlier }),
    });
  }
}

function storeCall(call: CallRecord, state: StoreState): JsonObject {
  const attributes = ownAttributes(call.attributes);
  const identity = Object.fromEntries(Object.entries({ ...withoutAmbient(call), attributes }).filter(isGiven));
  if (call.kind !== 'llm' && call.kind !== 'http') return identity;
  const own = state.turnOf(call);
  const isLast = own !== undefined && own.turn.spanIds?.at(-1) === call.spanId;
  return {
    ...identity,
    request: { ...call.request, body: state.requestBody(call) },
    ...(call.response !== undefined && {
      response: storeResponse(
        call.response,
        isLast ? { turn: own.number, part: 'response', value: own.turn.response } : undefined,
      ),
    }),
  };
}

const isGiven = ([, value]: [string, unknown]): boolean => value !== undefined;

/** The `gen_ai.*` view repeats the bodies for people who look at spans; it is made anew from the bytes when needed. */
function ownAttributes(attributes: CallRecord['attributes']): Record<string, AttributeValue> | undefined {
  const own = Object.entries(attributes ?? {}).filter(([name]) => !name.startsWith('gen_ai.'));
  return attributes === undefined || own.length === 0 ? undefined : Object.fromEntries(own);
}

function storeResponse(
  response: NonNullable<ExchangeRecord['response']>,
  readable: { turn: number; part: 'response'; value: unknown } | undefined,
): JsonObject {
  const { chunks, ...head } = response;
  const body = Buffer.concat(chunks.map((chunk) => chunk.bytes));
  return {
    ...head,
    body: storeBytes(body, readable === undefined ? {} : { readable }),
    ...chunkTable(chunks),
  };
}

/** Lengths, order and times of the pieces, as differences: in whole microseconds when they are that. */
function chunkTable(chunks: NonNullable<ExchangeRecord['response']>['chunks']): JsonObject {
  const micros = chunks.map((chunk) => Math.round(chunk.ms * 1000));
  const exact = chunks.every((chunk, index) => (micros[index] ?? 0) / 1000 === chunk.ms);
  let seq = 0;
  let time = 0;
  const table = chunks.flatMap((chunk, index) => {
    const now = exact ? (micros[index] ?? 0) : chunk.ms;
    const row = [chunk.bytes.length, chunk.seq - seq, exact ? now - time : now];
    seq = chunk.seq;
    time = now;
    return row;
  });
  return exact ? { chunks: table } : { chunks: table, msChunks: true };
}
