import { ReenactError } from '../../instrumentation/schema/errors';
import type { ExecutionLog } from '../../instrumentation/schema/execution-log';
import { replaceFile, type ReplaceOptions } from './atomic-file';
import { readLines } from './json-lines';
import { checkLog } from './log-shape';
import { compactTurns } from './message-history';

/** Bytes of turns of one log up to which every request is written out in full. */
const FULL_LIMIT = 16 * 1024 * 1024;

export interface SerializeOptions {
  /** Histories as `$same` even when the log is small. */
  readonly compact?: boolean;
  readonly fullLimit?: number;
}

/**
 * The log as it is written and shown: with its recording, and with histories as `$same` when it is large. Every
 * document of the command line that holds a log is made of this.
 */
export function toDocument(log: ExecutionLog, options: SerializeOptions = {}): ExecutionLog {
  const compact = options.compact ?? isLarge(log, options.fullLimit ?? FULL_LIMIT);
  if (!compact) return log;
  const document = { ...log, turns: compactTurns(log.turns) };
  return document;
}

function isLarge(log: ExecutionLog, limit: number): boolean {
  let size = 0;
  for (const turn of log.turns) {
    size += JSON.stringify(turn).length;
    if (size > limit) return true;
  }
  return false;
}

/** One line of JSON, without the line end. */
export function serializeLog(log: ExecutionLog, options: SerializeOptions = {}): string {
  return JSON.stringify(toDocument(log, options));
}

/**
 * Reads the logs of a JSONL file (`.gz` too) one at a time.
 * @throws ReenactError FILE_NOT_FOUND, LOG_EMPTY, LOG_INVALID, LOG_VERSION_UNSUPPORTED
 */
export async function* streamLogs(path: string): AsyncGenerator<ExecutionLog> {
  let count = 0;
  for await (const { text, number } of readLines(path, 'LOG_INVALID')) {
    count += 1;
    yield parseLog(text, `${path}:${number}`);
  }
  if (count === 0) throw new ReenactError('LOG_EMPTY', `${path} is empty`);
}

/** All logs of a JSONL file; see `streamLogs`. */
export async function readLogs(path: string): Promise<ExecutionLog[]> {
  const logs: ExecutionLog[] = [];
  for await (const log of streamLogs(path)) logs.push(log);
  return logs;
}

/**
 * Parses one line of a log file.
 * @throws ReenactError LOG_INVALID, LOG_VERSION_UNSUPPORTED
 */
export function parseLog(text: string, place = 'the log'): ExecutionLog {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ReenactError('LOG_INVALID', `${place} is not JSON: ${briefly((cause as Error).message)}`, { cause });
  }
  return checkLog(value, place);
}

/** Parse errors quote the input, which may be long and may hold control characters. */
function briefly(message: string): string {
  return JSON.stringify(message.slice(0, 120)).slice(1, -1);
}

/**
 * Writes logs as JSONL, packed when the name ends in `.gz`. The file appears whole or not at all.
 * @throws ReenactError FILE_EXISTS, FILE_NOT_WRITABLE
 */
export async function writeLogs(
  path: string,
  logs: Iterable<ExecutionLog> | AsyncIterable<ExecutionLog>,
  options: SerializeOptions & ReplaceOptions = {},
): Promise<void> {
  await replaceFile(
    path,
    (async function* () {
      for await (const log of logs) yield `${serializeLog(log, options)}\n`;
    })(),
    options,
  );
}
