import { randomBytes } from 'node:crypto';

/** A new run id that sorts by time, as the preload makes them: `20261201-093000-1a2b3c4d`. */
export function newRunId(now: Date = new Date()): string {
  const stamp = now.toISOString().replace(/[-:]/g, '').replace('T', '-').slice(0, 15);
  return `${stamp}-${randomBytes(4).toString('hex')}`;
}
