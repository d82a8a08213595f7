import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** Captured when the package loads: the program may replace `fs` functions, and a replay does. */
const fs = { mkdirSync, statSync };

/**
 * Makes a folder and what is missing above it. Node's own `recursive` never comes back where a file system answers
 * "no such folder" below a folder that exists (seen on /proc with 20.20): inside a recorded program that would hang it.
 * @throws Error of the system
 */
export function makeFolder(path: string, mode?: number): void {
  try {
    fs.mkdirSync(path, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const parent = dirname(path);
    if (code === 'ENOENT' && parent !== path && fs.statSync(parent, { throwIfNoEntry: false }) === undefined) {
      makeFolder(parent, mode);
      fs.mkdirSync(path, { mode });
    } else if (fs.statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}
