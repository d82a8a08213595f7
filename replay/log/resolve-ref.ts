import { statSync } from 'node:fs';
import { ReenactError } from '../../instrumentation/schema/errors';
import type { ExecutionLog } from '../../instrumentation/schema/execution-log';
import type { Recording } from '../../instrumentation/schema/records';
import { localSource } from '../sources/local';
import { parseSource } from '../sources/registry';
import { isReplay, type TraceSource } from '../sources/trace-source';
import { buildLogs } from './build-log';
import { readLogs } from './log-file';
import { verifyLog } from './verify-log';

export interface ResolveOptions {
  /** Folder of the local store. */
  readonly store: string;
  /** A source as `--from` names it; the local store without. */
  readonly from?: string | undefined;
}

export interface ResolvedRef {
  readonly logs: ExecutionLog[];
  /** Where they come from: only a run of the local store may name the command that is executed. */
  readonly origin: 'store' | 'file' | 'backend';
  /** The file, when there is one. */
  readonly path?: string;
}

const LOG_FILE = /\.jsonl(\.gz)?$/;

/** Most candidates that an error lists. */
const MAX_LISTED = 40;

/**
 * Finds the logs that a REF of the command line names: a file (`#n`, `#sessionId`), a session id, `SESSION@RUN`, a
 * trace id, a run id, or `last`.
 * @throws ReenactError REF_NOT_FOUND, REF_AMBIGUOUS, UNKNOWN_SOURCE, and those of reading files and sources
 */
export async function resolveRef(ref: string, options: ResolveOptions): Promise<ResolvedRef> {
  const file = options.from === undefined ? fileOf(ref) : undefined;
  if (file !== undefined) return resolveFile(file.path, file.part);
  const source = options.from === undefined ? localSource(options.store) : parseSource(options.from, options.store);
  return { logs: await resolveInSource(ref, source), origin: source.origin };
}

/**
 * The only one of the logs. @param ref as the user named them; with a file the candidates are references into it
 * @throws ReenactError REF_AMBIGUOUS with their session ids, LOG_HAS_NO_CALLS
 */
export function requireOne(logs: readonly ExecutionLog[], ref = ''): ExecutionLog {
  const [log, ...others] = logs;
  if (log === undefined) throw new ReenactError('LOG_HAS_NO_CALLS', 'there is no log with calls');
  if (others.length === 0) return log;
  throw ambiguous(
    'several logs where one is needed',
    logs.map((item) => (ref !== '' && fileOf(ref) !== undefined ? `${ref}#${item.sessionId}` : item.sessionId)),
  );
}

function ambiguous(what: string, candidates: readonly string[]): ReenactError {
  const listed = candidates.slice(0, MAX_LISTED).map(printable).join(', ');
  const rest = candidates.length > MAX_LISTED ? `, and ${candidates.length - MAX_LISTED} more` : '';
  return new ReenactError('REF_AMBIGUOUS', `${what}: ${listed}${rest}`);
}

/** Ids come from recordings and may hold anything; on a terminal they stay text. */
function printable(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.slice(0, 200).replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, '\ufffd');
}

/** The file part and the part after `#`, when the reference is a path. */
function fileOf(ref: string): { path: string; part?: string } | undefined {
  if (LOG_FILE.test(ref) || isFile(ref)) return { path: ref };
  const hash = ref.indexOf('#', ref.search(/\.jsonl(\.gz)?#/));
  if (hash > 0 && LOG_FILE.test(ref.slice(0, hash))) return { path: ref.slice(0, hash), part: ref.slice(hash + 1) };
  return undefined;
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    // Ids that are no path at all end here too.
    return false;
  }
}

async function resolveFile(path: string, part: string | undefined): Promise<ResolvedRef> {
  const all = await readLogs(path);
  const logs = part === undefined ? all : pick(all, part, path);
  for (const log of logs) verifyLog(log);
  return { logs, origin: 'file', path };
}

/** `#n` counts from 1; a session id that is a number is found when it is not such a position. */
function pick(logs: readonly ExecutionLog[], part: string, path: string): ExecutionLog[] {
  const bySession = logs.filter((log) => log.sessionId === part);
  const byPosition = /^[1-9]\d*$/.test(part) ? logs[Number(part) - 1] : undefined;
  const found = byPosition === undefined ? bySession : [byPosition];
  if (found.length === 0)
    throw new ReenactError('REF_NOT_FOUND', `${path} holds ${logs.length} logs, and none is #${printable(part)}`);
  if (found.length > 1)
    throw ambiguous(
      `${path} holds session ${printable(part)} several times`,
      logs.flatMap((log, index) => (log.sessionId === part ? [`#${index + 1}`] : [])),
    );
  return found;
}

async function resolveInSource(ref: string, source: TraceSource): Promise<ExecutionLog[]> {
  const found = await source.fetch(ref);
  if (found.length > 0) return selectLogs(found, ref);
  const at = ref.lastIndexOf('@');
  const [session, run] = at > 0 ? [ref.slice(0, at), ref.slice(at + 1)] : [undefined, undefined];
  const recordings = run === undefined ? [] : await source.fetch(run);
  const logs = recordings.filter((recording) => recording.runId === run).flatMap((recording) => buildLogs(recording));
  const wanted = logs.filter((log) => log.sessionId === session);
  if (wanted.length > 0) return wanted;
  if (ref === 'last')
    throw new ReenactError('REF_NOT_FOUND', `nothing is recorded in ${source.name} yet`, {
      hint: 'Record a program first: reenact record -- CMD',
    });
  throw new ReenactError('REF_NOT_FOUND', `${source.name} holds nothing called ${JSON.stringify(printable(ref))}`);
}

function selectLogs(recordings: readonly Recording[], ref: string): ExecutionLog[] {
  const named = recordings.filter((recording) => recording.runId === ref || ref === 'last');
  // A session of a replay has the id of the one it replays; unless its run is named, the recorded one is meant.
  const recorded = recordings.filter((recording) => !isReplay(recording));
  const candidates = named.length > 0 ? named : recorded.length > 0 ? recorded : recordings;
  const found = candidates.map((recording) => logsNamed(recording, ref)).filter((logs) => logs.length > 0);
  const [logs, ...others] = found;
  if (logs === undefined) throw new ReenactError('LOG_HAS_NO_CALLS', `${printable(ref)} holds no calls`);
  if (others.length === 0) return logs;
  throw ambiguous(
    `${printable(ref)} was recorded by several runs`,
    found.flatMap((group) => group.map((log) => `${log.sessionId}@${log.runId ?? ''}`)),
  );
}

function logsNamed(recording: Recording, ref: string): ExecutionLog[] {
  const logs = buildLogs(recording);
  if (recording.runId === ref || ref === 'last') return logs;
  const bySession = logs.filter((log) => log.sessionId === ref);
  if (bySession.length > 0) return bySession;
  const byTrace = logs.filter((log) => log.traceIds?.includes(ref) === true);
  // The trace of a process holds its prelude, which is part of every log of it.
  const ofProcess = recording.processes.some((process) => process.traceId === ref);
  return byTrace.length > 0 ? byTrace : ofProcess ? logs : [];
}
