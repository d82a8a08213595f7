import type { ExecutionLog, ExecutionTurn, StoredRecording } from '../../instrumentation/schema/execution-log';
import type {
  CallRecord,
  DecisionRecord,
  ExchangeRecord,
  Gap,
  ObservationRecord,
  Recording,
  SessionRecord,
  ToolRecord,
} from '../../instrumentation/schema/records';
import { toPlainJson } from '../../instrumentation/schema/typed-json';
import { groupAttempts } from './attempts';
import { isObject } from './checked';
import { inferTools } from './inferred-tools';
import { MessageHistory } from './message-history';
import { sessionIds, sessionPart, type SessionPart } from './session-part';
import { storePart } from './stored-recording';
import { duration, iso, llmTurn, thrownError, toolTurn, type DraftTurn } from './turns';

/** One ExecutionLog for each session of a run that has calls, in the order in which the sessions began. */
export function buildLogs(recording: Recording): ExecutionLog[] {
  return sessionIds(recording).map((id) => buildLog(recording, id));
}

/** The log of one session. Its `recording` is made when it is first read. */
export function buildLog(recording: Recording, sessionId: string): ExecutionLog {
  const part = sessionPart(recording, sessionId);
  const own = part.calls.filter((call) => call.sessionId === sessionId);
  const sessions = part.sessions.filter((session) => session.sessionId === sessionId);
  const turns = buildTurns(own, part);
  const log: ExecutionLog = {
    sessionId,
    ...describeSession(sessions, own, turns),
    turns,
    runId: recording.runId,
    traceIds: [...new Set([...own, ...sessions].map((record) => record.traceId))],
    decisions: own.filter((call) => call.kind === 'decision').map(decisionEntry),
    observations: own.filter((call) => call.kind === 'observation').map(observationEntry),
    gaps: gapsOf(recording, sessionId),
  };
  const replayOf = part.processes.find((process) => process.replayOf !== undefined)?.replayOf;
  if (replayOf !== undefined) log.replayOf = replayOf;
  return withLazyRecording(log, () => storePart(recording, part, turns));
}

/** Most readers (`list`, `show`) never look at the bytes, and encoding them costs as much as all the rest. */
function withLazyRecording(log: ExecutionLog, make: () => StoredRecording): ExecutionLog {
  let stored: StoredRecording | undefined;
  return Object.defineProperty(log, 'recording', {
    enumerable: true,
    configurable: true,
    get: () => (stored ??= make()),
    set: (value: StoredRecording) => (stored = value),
  });
}

function buildTurns(own: readonly CallRecord[], part: SessionPart): ExecutionTurn[] {
  const exchanges = own.filter((call): call is ExchangeRecord => call.kind === 'llm');
  const tools = own.filter((call): call is ToolRecord => call.kind === 'tool');
  const started = new Map(part.processes.map((process) => [process.processPath, process.startMs]));
  const calls = [...groupAttempts(exchanges), ...tools];
  const firstOf = (call: (typeof calls)[number]): CallRecord => (Array.isArray(call) ? call[0] : call) as CallRecord;
  calls.sort((a, b) => compareCalls(firstOf(a), firstOf(b), started));
  const history = new MessageHistory();
  const drafts = calls.map((call, index) => (isToolRecord(call) ? toolTurn(call) : llmTurn(call, history, index + 1)));
  return numberTurns(drafts);
}

function isToolRecord(call: ReturnType<typeof groupAttempts>[number] | ToolRecord): call is ToolRecord {
  return !Array.isArray(call);
}

/** Processes in the order in which they started; within one, the order of issue. */
function compareCalls(a: CallRecord, b: CallRecord, started: ReadonlyMap<string, number>): number {
  if (a.processPath === b.processPath) return a.seqStart - b.seqStart;
  const difference = (started.get(a.processPath) ?? a.startMs) - (started.get(b.processPath) ?? b.startMs);
  return difference || (a.processPath < b.processPath ? -1 : 1);
}

function numberTurns(drafts: readonly DraftTurn[]): ExecutionTurn[] {
  const inferred = new Map<DraftTurn, Omit<ExecutionTurn, 'turnId'>[]>();
  for (const { before, turn } of inferTools(drafts)) inferred.set(before, [...(inferred.get(before) ?? []), turn]);
  const turns = drafts.flatMap((draft) => [...(inferred.get(draft) ?? []), draft.turn]);
  return turns.map((turn, index) => ({ turnId: `turn-${index + 1}`, ...turn }));
}

function describeSession(
  sessions: readonly SessionRecord[],
  own: readonly CallRecord[],
  turns: readonly ExecutionTurn[],
) {
  const end = sessions.findLast((session) => session.phase === 'end');
  const find = <K extends keyof SessionRecord>(field: K): SessionRecord[K] | undefined =>
    end?.[field] ?? sessions.find((session) => session[field] !== undefined)?.[field];
  const starts = [...own, ...sessions].map((record) => record.startMs);
  const ends = [...own.map((call) => call.endMs), ...(end === undefined ? [] : [end.endMs])];
  const startMs = starts.reduce((a, b) => Math.min(a, b), Infinity);
  const agentId = find('agentId') ?? own.find((call) => call.agentId !== undefined)?.agentId;
  const outcome = find('outcome');
  const metadata = metadataOf(find('metadata'), find('failure'), turns);
  return {
    agentVersion: find('agentVersion') ?? '',
    promptVersion: find('promptVersion') ?? '',
    startedAt: iso(startMs),
    durationMs: duration(
      startMs,
      ends.reduce((a, b) => Math.max(a, b), startMs),
    ),
    ...(agentId !== undefined && { agentId }),
    ...(outcome !== undefined && { outcome }),
    ...(metadata !== undefined && { metadata }),
  };
}

function metadataOf(given: unknown, failure: string | undefined, turns: readonly ExecutionTurn[]) {
  const plain = given === undefined ? {} : toPlainJson(given);
  const models = new Set(
    turns.flatMap((turn) => (typeof turn.request['model'] === 'string' ? [turn.request['model']] : [])),
  );
  const [model] = models;
  const metadata = {
    ...(model !== undefined && { model }),
    ...(models.size > 1 && { models: [...models] }),
    ...(isObject(plain) ? plain : { value: plain }),
    ...(failure !== undefined && { failure }),
  };
  return Object.keys(metadata).length === 0 ? undefined : metadata;
}

function decisionEntry(call: DecisionRecord) {
  return {
    timestamp: iso(call.startMs),
    name: call.decision,
    data: toPlainJson(call.data),
    ...(call.agentId !== undefined && { agentId: call.agentId }),
  };
}

function observationEntry(call: ObservationRecord) {
  return {
    timestamp: iso(call.startMs),
    key: call.key,
    ...(call.args !== undefined && { args: toPlainJson(call.args) }),
    ...(call.thrown === undefined ? { value: toPlainJson(call.value ?? null) } : { error: thrownError(call.thrown) }),
    ...(call.agentId !== undefined && { agentId: call.agentId }),
  };
}

function gapsOf(recording: Recording, sessionId: string): Gap[] {
  const others = new Set(
    recording.calls.filter((call) => call.sessionId !== sessionId && call.sessionId !== '').map((call) => call.spanId),
  );
  return recording.gaps.filter(
    (gap) =>
      (gap.sessionId === undefined || gap.sessionId === '' || gap.sessionId === sessionId) &&
      (gap.spanId === undefined || !others.has(gap.spanId)),
  );
}
