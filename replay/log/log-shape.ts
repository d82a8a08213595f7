import { ReenactError } from '../../instrumentation/schema/errors';
import type { ExecutionLog, ExecutionTurn } from '../../instrumentation/schema/execution-log';
import { READABLE_FORMAT_VERSIONS } from '../../instrumentation/schema/version';
import { Checked, isObject, isShallow, MAX_DEPTH } from './checked';
import { expandTurns } from './message-history';

const OUTCOMES = ['resolved', 'escalated', 'abandoned'] as const;

/**
 * Checks that a parsed value is an ExecutionLog and writes its `$same` histories out.
 * @throws ReenactError LOG_INVALID, LOG_VERSION_UNSUPPORTED
 */
export function checkLog(value: unknown, place = 'the log'): ExecutionLog {
  if (!isObject(value)) throw new ReenactError('LOG_INVALID', `${place} is not a JSON object`);
  if (!isShallow(value)) throw new ReenactError('LOG_INVALID', `${place} nests deeper than ${MAX_DEPTH} levels`);
  const log = new Checked(value, place);
  log.string('sessionId');
  checkTime(log, 'startedAt');
  for (const field of ['agentVersion', 'promptVersion', 'agentId', 'runId', 'replayOf'])
    if (log.has(field)) log.string(field);
  if (log.has('outcome')) log.oneOf('outcome', OUTCOMES);
  if (log.has('metadata')) log.object('metadata');
  if (log.has('traceIds')) log.strings('traceIds');
  if (log.has('durationMs')) log.number('durationMs');
  for (const field of ['decisions', 'observations', 'gaps']) if (log.has(field)) checkEntries(log, field);
  if (log.has('recording')) checkVersion(log.object('recording'), place);
  const turns = log.objects('turns').map(checkTurn);
  return { agentVersion: '', promptVersion: '', ...own(value), turns: expandTurns(turns) } as ExecutionLog;
}

/** `JSON.parse` makes `__proto__` an own key; no key of that name is of use here. */
function own(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([key]) => key !== '__proto__'));
}

function checkTime(checked: Checked, field: string): void {
  if (Number.isNaN(Date.parse(checked.string(field))))
    throw new ReenactError(
      'LOG_INVALID',
      `${field} is ${JSON.stringify(checked.string(field)).slice(0, 60)}, not a time`,
    );
}

const ENTRY_FIELDS: Readonly<Record<string, readonly string[]>> = {
  decisions: ['timestamp', 'name'],
  observations: ['timestamp', 'key'],
  gaps: ['code', 'message'],
};

function checkEntries(log: Checked, field: string): void {
  for (const entry of log.objects(field)) for (const name of ENTRY_FIELDS[field] ?? []) entry.string(name);
}

function checkVersion(recording: Checked, place: string): void {
  const version = recording.string('formatVersion');
  if (READABLE_FORMAT_VERSIONS.includes(version)) return;
  throw new ReenactError(
    'LOG_VERSION_UNSUPPORTED',
    `${place} has format ${JSON.stringify(version)}; this version reads ${READABLE_FORMAT_VERSIONS.join(', ')}`,
  );
}

function checkTurn(turn: Checked): ExecutionTurn {
  turn.string('turnId');
  checkTime(turn, 'timestamp');
  const type = turn.oneOf('type', ['llm_call', 'tool_call'] as const);
  const request = turn.object('request');
  turn.object('response');
  if (turn.number('durationMs') < 0) throw new ReenactError('LOG_INVALID', 'durationMs must not be negative');
  if (type === 'tool_call') request.string('name');
  if (turn.has('spanIds')) turn.strings('spanIds');
  if (turn.has('status')) turn.integer('status');
  for (const field of ['agentId', 'provider', 'outcome']) if (turn.has(field)) turn.string(field);
  if (turn.has('error')) for (const field of ['name', 'message']) turn.object('error').string(field);
  return own(turn.value) as ExecutionTurn;
}
