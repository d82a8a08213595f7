import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  realpathSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { ReenactError } from '../instrumentation/schema/errors';
import { makeFolder } from './make-folder';
import { runsFolder } from './store-paths';

/** Captured when the package loads: the program may replace `fs` functions, and a replay does. */
const fs = {
  closeSync,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  realpathSync,
  writeFileSync,
  writeSync,
};

/**
 * Makes the store's folders (0700) and its `.gitignore`.
 * @throws ReenactError FILE_NOT_WRITABLE when the store is a link that leads elsewhere; errors of the file system
 */
export function prepareStore(store: string, folder: string): void {
  const parent = dirname(store);
  makeFolder(parent);
  const link = fs.lstatSync(store, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
  if (link && !inside(fs.realpathSync(store), fs.realpathSync(parent))) {
    throw new ReenactError('FILE_NOT_WRITABLE', `the store ${store} is a link that leads outside its folder`);
  }
  makeFolder(store, 0o700);
  for (const path of [runsFolder(store), folder]) {
    if (fs.lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) {
      throw new ReenactError('FILE_NOT_WRITABLE', `${path} is a link; recordings are not written through links`);
    }
    makeFolder(path, 0o700);
  }
  const ignore = join(store, '.gitignore');
  if (!fs.existsSync(ignore)) fs.writeFileSync(ignore, '*\n', { mode: 0o600 });
}

const inside = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);

/** After a failed write the disk is tried again at the earliest after this. */
const RETRY_MS = 1000;
/** Lines kept in memory while the disk cannot take them. */
const MAX_KEPT_BYTES = 64 * 1024 * 1024;

export interface SpoolOptions {
  readonly store: string;
  readonly path: string;
  readonly now: () => number;
  /** Called once per kind of failure, and for every line that is given up. */
  readonly failed: (what: 'write' | 'lost', error: unknown) => void;
}

/**
 * The write-ahead file of one process: one line per finished record, each written with one system call before
 * anything else happens to the record, so that a killed process loses at most the call in flight.
 */
export class SpoolFile {
  private fd: number | undefined;
  private kept: Buffer[] = [];
  private keptBytes = 0;
  private retryAt = 0;
  /** Bytes in the file, whole lines and broken ones. */
  private size = 0;
  private broken = false;
  private saidRemoved = false;

  constructor(private readonly options: SpoolOptions) {}

  /** Appends a line; returns the offset of its end in the file, or `undefined` while it is only in memory. */
  append(line: Buffer): number | undefined {
    if (this.kept.length > 0 || (this.fd === undefined && this.retryAt > this.options.now())) {
      this.keep(line);
      if (this.retryAt <= this.options.now()) this.drain();
      return this.kept.length === 0 ? this.size : undefined;
    }
    if (this.write(line)) return this.size;
    this.keep(line);
    return undefined;
  }

  /** Tries once more to write what is in memory. */
  drain(): void {
    while (this.kept.length > 0) {
      const line = this.kept[0] as Buffer;
      if (!this.write(line)) return;
      this.kept.shift();
      this.keptBytes -= line.length;
    }
  }

  /** A file that was removed takes every further line without an error, and keeps none: said once. */
  checkRemoved(): void {
    if (this.fd === undefined || this.saidRemoved || fs.fstatSync(this.fd).nlink > 0) return;
    this.saidRemoved = true;
    this.options.failed('lost', new Error(`${this.options.path} was removed while it was written`));
  }

  close(): void {
    if (this.fd === undefined) return;
    fs.closeSync(this.fd);
    this.fd = undefined;
  }

  private keep(line: Buffer): void {
    this.kept.push(line);
    this.keptBytes += line.length;
    while (this.keptBytes > MAX_KEPT_BYTES && this.kept.length > 1) {
      this.keptBytes -= this.kept.shift()?.length ?? 0;
      this.options.failed('lost', new Error('more than 64 MB wait for a disk that cannot be written'));
    }
  }

  private write(line: Buffer): boolean {
    try {
      this.fd ??= this.open();
      const bytes = this.broken ? Buffer.concat([Buffer.from('\n'), line]) : line;
      const written = fs.writeSync(this.fd, bytes);
      this.size += written;
      this.broken = written < bytes.length;
      if (this.broken) throw new Error(`only ${written} of ${bytes.length} bytes were written`);
      return true;
    } catch (error) {
      this.retryAt = this.options.now() + RETRY_MS;
      this.options.failed('write', error);
      return false;
    }
  }

  private open(): number {
    prepareStore(this.options.store, dirname(this.options.path));
    const { O_APPEND, O_CREAT, O_WRONLY, O_NOFOLLOW } = constants;
    const fd = fs.openSync(this.options.path, O_APPEND | O_CREAT | O_WRONLY | (O_NOFOLLOW ?? 0), 0o600);
    this.size = fs.lstatSync(this.options.path).size;
    return fd;
  }
}
