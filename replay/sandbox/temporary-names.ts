import fs from 'node:fs';
import type { DrawSource } from '../../instrumentation/ambient/crypto';
import { TEMPORARY_NAME } from '../../instrumentation/ambient/temporary-names';
import { patch } from '../../instrumentation/patches';

type Callback = (error: NodeJS.ErrnoException | null, folder: string) => void;

const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';

/**
 * Gives temporary folders the names that they had in the recording.
 *
 * What: mkdtemp of node:fs in its three forms. Why here: see `noteTemporaryNames`. What breaks when it goes wrong: a
 * program finds in a new folder what another run left there; so a folder that is there already serves only while it is
 * empty, and else the system draws another name.
 */
export function replayTemporaryNames(source: DrawSource): void {
  const { mkdtempSync, mkdtemp } = fs;
  const promised = fs.promises.mkdtemp;
  const recorded = (args: readonly unknown[]): string | undefined => {
    const [prefix, options] = args;
    const encoding = typeof options === 'object' ? (options as { encoding?: unknown } | null)?.encoding : options;
    if (typeof prefix !== 'string' || encoding === 'buffer') return undefined;
    const folder = prefix + nextName(source);
    return isMade(folder) ? folder : undefined;
  };
  patch(fs, 'mkdtempSync', () => ((...args: [string]) => recorded(args) ?? mkdtempSync(...args)) as typeof mkdtempSync);
  patch(
    fs.promises,
    'mkdtemp',
    () =>
      ((...args: [string]) => {
        const folder = recorded(args);
        return folder === undefined ? promised(...args) : Promise.resolve(folder);
      }) as typeof promised,
  );
  patch(
    fs,
    'mkdtemp',
    () =>
      ((...args: [string, Callback]) => {
        const callback: unknown = args.at(-1);
        const folder = typeof callback === 'function' ? recorded(args.slice(0, -1)) : undefined;
        if (folder === undefined) return mkdtemp(...args);
        process.nextTick(callback as Callback, null, folder);
      }) as typeof mkdtemp,
  );
}

function nextName(source: DrawSource): string {
  const bytes = source.draw(TEMPORARY_NAME.op, TEMPORARY_NAME.length, () => Buffer.alloc(TEMPORARY_NAME.length));
  const name = Buffer.from(bytes).toString('latin1');
  // Beyond the recording the draw is any bytes; a recording is untrusted, and a name must not lead to another folder.
  return /^[A-Za-z0-9]+$/.test(name) ? name : [...bytes].map((byte) => LETTERS[byte % LETTERS.length]).join('');
}

function isMade(folder: string): boolean {
  try {
    fs.mkdirSync(folder, { mode: 0o700 });
    return true;
  } catch {
    // It is there, or cannot be made: then the system says why.
  }
  try {
    return fs.readdirSync(folder).length === 0;
  } catch {
    return false;
  }
}
