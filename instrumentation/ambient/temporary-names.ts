import fs from 'node:fs';
import { patch } from '../patches';
import type { DrawSource } from './crypto';

type Callback = (error: NodeJS.ErrnoException | null, folder: string) => void;

/** What the system puts behind the prefix: six letters or digits (libuv, `uv_fs_mkdtemp`). */
export const TEMPORARY_NAME = { op: 'mkdtemp', length: 6 } as const;

/**
 * Notes the names that the system draws for temporary folders, as all randomness.
 *
 * What: mkdtemp of node:fs in its three forms. Why here: the system draws the name itself, below `node:crypto`, and
 * programs tell it to the model ("you can edit files in …"). What breaks when it goes wrong: nothing but the note; the
 * folder is made by the original.
 */
export function noteTemporaryNames(source: DrawSource): void {
  const note = <T>(folder: T): T => {
    // With `encoding: 'buffer'` it is bytes, which nobody writes into a text.
    if (typeof folder === 'string') {
      const name = Buffer.from(folder.slice(-TEMPORARY_NAME.length), 'latin1');
      source.draw(TEMPORARY_NAME.op, TEMPORARY_NAME.length, () => name);
    }
    return folder;
  };
  const { mkdtempSync, mkdtemp } = fs;
  const promised = fs.promises.mkdtemp;
  patch(fs, 'mkdtempSync', () => ((...args: [string]) => note(mkdtempSync(...args))) as typeof mkdtempSync);
  patch(fs.promises, 'mkdtemp', () => ((...args: [string]) => promised(...args).then(note)) as typeof promised);
  patch(
    fs,
    'mkdtemp',
    () =>
      ((...args: unknown[]) => {
        const callback = args.at(-1);
        if (typeof callback !== 'function') return mkdtemp(...(args as [string, Callback]));
        const noted: Callback = (error, folder) => (callback as Callback)(error, note(folder));
        return mkdtemp(...([...args.slice(0, -1), noted] as [string, Callback]));
      }) as typeof mkdtemp,
  );
}
