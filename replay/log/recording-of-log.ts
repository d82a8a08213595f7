import type { ExecutionLog } from '../../instrumentation/schema/execution-log';
import { ReenactError } from '../../instrumentation/schema/errors';
import type { CallRecord, Recording } from '../../instrumentation/schema/records';
import { FORMAT_VERSION } from '../../instrumentation/schema/version';
import { expandTurns } from './message-history';
import { recordingFromTurns } from './rebuilt-recording';
import { readStored, type PlacedAmbient } from './stored-reader';

interface Part {
  readonly recording: Recording;
  readonly ambient: readonly PlacedAmbient[];
}

function partOf(log: ExecutionLog): Part {
  if (log.recording !== undefined) return readStored(log.recording, expandTurns(log.turns));
  const recording = recordingFromTurns(log);
  return { recording, ambient: [] };
}

/**
 * What replay needs of a log: its recorded bytes, or records rebuilt from the turns of a log without them.
 * @throws ReenactError LOG_INVALID, LOG_TAMPERED, LOG_VERSION_UNSUPPORTED, PAYLOAD_DAMAGED
 */
export function recordingOf(log: ExecutionLog): Recording {
  return partOf(log).recording;
}

/**
 * Puts the logs of one run together again. The prelude of a process, which each log holds, counts once.
 * @throws ReenactError REF_AMBIGUOUS when the logs are of several runs, and those of `recordingOf`
 */
export function mergeRecordings(logs: readonly ExecutionLog[]): Recording {
  const [first, ...rest] = logs.map(partOf);
  if (first === undefined) return emptyRecording();
  if (rest.length === 0) return first.recording;
  const parts = [first, ...rest];
  const runs = new Set(parts.map((part) => part.recording.runId));
  if (runs.size > 1) throw new ReenactError('REF_AMBIGUOUS', `the logs are of several runs: ${[...runs].join(', ')}`);
  const all = <K extends 'processes' | 'exits' | 'sessions' | 'calls' | 'gaps'>(field: K): Recording[K][number][] =>
    parts.flatMap((part) => [...part.recording[field]]);
  return {
    formatVersion: first.recording.formatVersion,
    runId: first.recording.runId,
    processes: unique(all('processes'), (item) => `${item.processPath} ${item.spanId}`),
    exits: unique(all('exits'), (item) => `${item.processPath} ${item.spanId}`),
    sessions: unique(all('sessions'), (item) => `${item.spanId} ${item.phase}`),
    calls: unique(all('calls'), (item) => item.spanId).sort(byProcessAndOrder),
    ambient: mergeAmbient(parts.flatMap((part) => part.ambient)),
    gaps: unique(all('gaps'), (item) => JSON.stringify(item)),
  };
}

function emptyRecording(): Recording {
  return {
    formatVersion: FORMAT_VERSION,
    runId: '',
    processes: [],
    exits: [],
    sessions: [],
    calls: [],
    ambient: [],
    gaps: [],
  };
}

function unique<T>(items: readonly T[], key: (item: T) => string): T[] {
  const seen = new Map<string, T>();
  for (const item of items) if (!seen.has(key(item))) seen.set(key(item), item);
  return [...seen.values()];
}

function byProcessAndOrder(a: CallRecord, b: CallRecord): number {
  if (a.processPath !== b.processPath) return a.processPath < b.processPath ? -1 : 1;
  return a.seqStart - b.seqStart;
}

/** Pieces that were cut by session have their place in the run with them; lines of one piece are joined again. */
function mergeAmbient(pieces: readonly PlacedAmbient[]): Recording['ambient'] {
  const merged = new Map<number, PlacedAmbient & { lines: string[] }>();
  for (const piece of pieces) {
    const known = merged.get(piece.at);
    if (known === undefined) merged.set(piece.at, { ...piece, lines: [...piece.lines] });
    else known.lines.push(...piece.lines.filter((line) => !known.lines.includes(line)));
  }
  return [...merged.values()]
    .sort((a, b) => a.at - b.at)
    .map(({ processPath, sessionId, lines }) => ({ processPath, sessionId, lines }));
}
