import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProcessReport } from './report';

/** Writes a report file for the parent; process path and pid make its name. */
export function writeReport(report: ProcessReport, directory: string): void {
  mkdirSync(directory, { recursive: true });
  const name = `${report.processPath.replace(/[^\w.]/g, '_')}-${process.pid}.json`;
  writeFileSync(join(directory, name), JSON.stringify(report));
}

/** Tells the parent why this process could not begin its replay. */
export function writeFatal(fatal: { code: string; message: string }, directory: string): void {
  const nothing = { sessionIds: [], used: {}, diverged: 0, live: 0, blocked: 0, divergences: [], stdout: null };
  writeReport(
    {
      processPath: process.env['REENACT_PROCESS'] ?? '0',
      runId: process.env['REENACT_RUN_ID'] ?? '',
      ...nothing,
      fatal,
    },
    directory,
  );
}
