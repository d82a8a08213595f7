import { randomBytes } from 'node:crypto';
import { createWriteStream, existsSync, linkSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { ReenactError } from '../../instrumentation/schema/errors';

export interface ReplaceOptions {
  /** An existing file is replaced; without it, it is left alone and `FILE_EXISTS` thrown. */
  readonly replace?: boolean;
}

/**
 * Writes a file beside its final name and moves it there when it is complete, packed when the name ends in `.gz`.
 * @throws ReenactError FILE_EXISTS, FILE_NOT_WRITABLE
 */
export async function replaceFile(
  path: string,
  content: AsyncIterable<string>,
  options: ReplaceOptions = {},
): Promise<void> {
  refuse(path, options);
  if (!existsSync(dirname(path)))
    throw new ReenactError(
      'FILE_NOT_WRITABLE',
      `${path} cannot be written: the folder ${dirname(path)} does not exist`,
    );
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}.tmp`);
  try {
    const file = createWriteStream(temporary, { flags: 'wx', mode: 0o600 });
    const source = Readable.from(content, { objectMode: true });
    if (path.endsWith('.gz')) await pipeline(source, createGzip(), file);
    else await pipeline(source, file);
    moveInto(temporary, path, options);
  } catch (error) {
    rmSync(temporary, { force: true });
    if (error instanceof ReenactError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === undefined || !/^E[A-Z0-9]+$/.test(code)) throw error;
    throw new ReenactError('FILE_NOT_WRITABLE', `${path} cannot be written: ${message}`, { cause: error });
  }
}

function refuse(path: string, options: ReplaceOptions): void {
  if (!existsSync(path)) return;
  if (statSync(path).isDirectory())
    throw new ReenactError('FILE_EXISTS', `${path} is a folder`, { hint: 'Name a file.' });
  if (options.replace !== true) throw new ReenactError('FILE_EXISTS', `${path} exists already`);
}

function moveInto(temporary: string, path: string, options: ReplaceOptions): void {
  if (options.replace === true) {
    renameSync(temporary, path);
    return;
  }
  try {
    // A link fails when the name is taken meanwhile; a rename would replace that file.
    linkSync(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST')
      throw new ReenactError('FILE_EXISTS', `${path} exists already`, { cause: error });
    // Some file systems have no links.
    refuse(path, options);
    renameSync(temporary, path);
    return;
  }
  rmSync(temporary, { force: true });
}
