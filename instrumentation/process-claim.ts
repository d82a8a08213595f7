import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Names the folder in which the processes of a run claim their paths. */
export const CLAIMS_VARIABLE = 'REENACT_CLAIMS';

/** More processes than this under one shell keep the path they were given. */
const MAX_SIBLINGS = 10_000;

/**
 * The process path of this process alone. A shell hands one environment to every program it starts
 * (`sh -c "node a && node b"`), so the path that comes with it is claimed by making a file that must not exist yet: the
 * first process keeps it, the next ones are `<path>~2`, `<path>~3`, in the order in which they start.
 */
export function claimProcessPath(path: string, directory: string | undefined): string {
  if (directory === undefined || directory === '' || !/^[\w.~]+$/.test(path)) return path;
  for (let n = 1; n <= MAX_SIBLINGS; n++) {
    const own = n === 1 ? path : `${path}~${n}`;
    try {
      closeSync(openSync(join(directory, own), 'wx', 0o600));
      return own;
    } catch (error) {
      // Without the folder (whoever made it has ended) the path stays as it was given.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return path;
    }
  }
  return path;
}

/** Makes a folder for claims that is removed when this process ends. */
export function makeClaims(): string {
  const directory = mkdtempSync(join(tmpdir(), 'reenact-claims-'));
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
