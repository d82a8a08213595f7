import { createHash } from 'node:crypto';
import { join } from 'node:path';

/** Longest name part: some file systems allow 143 bytes. */
const MAX_NAME = 100;

/** An id as a file name: other characters escaped, a leading dot too, long ids shortened with a hash. */
export function fileName(id: string): string {
  const escaped = Array.from(Buffer.from(id, 'utf8'), (byte, index) => {
    const char = String.fromCharCode(byte);
    return /[A-Za-z0-9_-]/.test(char) || (char === '.' && index > 0) ? char : `%${byte.toString(16).padStart(2, '0')}`;
  }).join('');
  if (escaped === '') return '%';
  if (escaped.length <= MAX_NAME) return escaped;
  return `${escaped.slice(0, MAX_NAME - 33)}-${createHash('sha256').update(id).digest('hex').slice(0, 32)}`;
}

/** Ends of the file names in a run's folder. */
export const SPOOL_END = '.otlp.jsonl';
/** Beside a spool file whose spans go to an endpoint: how many bytes of it have been sent. */
export const SENT_END = '.sent';

export const runsFolder = (store: string): string => join(store, 'runs');
export const runFolder = (store: string, runId: string): string => join(runsFolder(store), fileName(runId));

/** The spool file of one process. */
export function spoolPath(store: string, process: { runId: string; processPath: string; pid: number }): string {
  return join(runFolder(store, process.runId), `${fileName(process.processPath)}-${process.pid}${SPOOL_END}`);
}
