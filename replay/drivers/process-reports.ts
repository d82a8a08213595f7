import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERRORS, ReenactError } from '../../instrumentation/schema/errors';
import type { ErrorCode } from '../../instrumentation/schema/errors';
import type { ProcessReport } from '../player/report';

/** Reports of all processes of the replay, the first process first. */
export function readReports(directory: string): ProcessReport[] {
  const reports = readdirSync(directory)
    .filter((name) => name.endsWith('.json'))
    .map((name) => JSON.parse(readFileSync(join(directory, name), 'utf8')) as ProcessReport);
  return reports.sort((a, b) => a.processPath.localeCompare(b.processPath, 'en', { numeric: true }));
}

/**
 * Throws what kept a process of the replay from beginning or going on.
 * @throws ReenactError REPLAY_PROGRAM_MISSING when no process has reported
 */
export function throwFatal(reports: readonly ProcessReport[], command: readonly string[], exitCode: number): void {
  if (reports.length === 0)
    throw new ReenactError(
      'REPLAY_PROGRAM_MISSING',
      `${command[0] ?? ''} ended with code ${exitCode} without beginning the replay`,
    );
  const fatal = reports.find((report) => report.fatal)?.fatal;
  if (fatal === undefined) return;
  const code: ErrorCode = Object.hasOwn(ERRORS, fatal.code) ? (fatal.code as ErrorCode) : 'INTERNAL';
  throw new ReenactError(code, fatal.message);
}
