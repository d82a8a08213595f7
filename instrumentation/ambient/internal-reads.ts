import { callerFile } from './caller';

/** Reads of the program that are looked at, at most, for each one that is expected of Node. */
const LOOKS = 16;

/** Reads that are looked at, at most, for those of preloaded packages: they come while modules load. */
const LOADER_LOOKS = 1_000;

/**
 * Tells the clock reads of others from the program's: Node's built-in undici reads `Date.now` once at the end of each
 * fetch, and a TypeScript loader reads it or not, as its cache is cold or warm. To look at the caller of every read
 * would cost ten times the read, so it is done only while such a read is expected.
 */
export class InternalReads {
  private expected = 0;
  private looks = 0;
  private loaderLooks: number;
  private readonly loaders: readonly string[];

  /** @param loaders parts of the file names of preloaded packages. */
  constructor(loaders: readonly string[] = []) {
    this.loaders = loaders;
    this.loaderLooks = loaders.length > 0 ? LOADER_LOOKS : 0;
  }

  /** A fetch has ended. */
  expect(): void {
    this.expected += 1;
    this.looks = LOOKS;
  }

  /** @param callee the patched function that was called, to find its caller in the stack. */
  isInternal(callee: ((...args: never[]) => unknown) | undefined): boolean {
    if (callee === undefined || (this.expected === 0 && this.loaderLooks === 0)) return false;
    const file = callerFile(callee);
    return this.isOfLoader(file) || this.isOfNode(file);
  }

  private isOfLoader(file: string): boolean {
    if (this.loaderLooks === 0) return false;
    this.loaderLooks -= 1;
    const path = file.replaceAll('\\', '/');
    return this.loaders.some((loader) => path.includes(loader));
  }

  private isOfNode(file: string): boolean {
    if (this.expected === 0) return false;
    if (file.startsWith('node:')) {
      this.expected -= 1;
      return true;
    }
    this.looks -= 1;
    // A body that is never read to its end leaves its read out.
    if (this.looks <= 0) this.expected = 0;
    return false;
  }
}
