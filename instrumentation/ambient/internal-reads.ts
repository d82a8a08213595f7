import { callerFile } from './caller';

/** Reads of the program that are looked at, at most, for each one that is expected of Node. */
const LOOKS = 16;

/** Reads that are looked at, at most, for those of preloaded packages: they come while modules load. */
const LOADER_LOOKS = 1_000;

/** On the stand-in for `stream.finished`: undici may be found loading in more than one way. */
const LISTENING = Symbol('listening');

type Finished = (...args: unknown[]) => unknown;

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
  /** Ends of streams that Node's undici is being told of. */
  private ends = 0;
  private hearsEnds = false;

  /** @param loaders parts of the file names of preloaded packages. */
  constructor(loaders: readonly string[] = []) {
    this.loaders = loaders;
    this.loaderLooks = loaders.length > 0 ? LOADER_LOOKS : 0;
  }

  /** A fetch has ended. @param hasBody its answer is one that may have a body */
  expect(hasBody: boolean): void {
    if (this.hearsEnds && hasBody) return;
    this.expected += 1;
    this.looks = LOOKS;
  }

  /** @param callee the patched function that was called, to find its caller in the stack. */
  isInternal(callee: ((...args: never[]) => unknown) | undefined): boolean {
    if (callee === undefined) return false;
    if (this.ends > 0) return true;
    if (this.expected === 0 && this.loaderLooks === 0) return false;
    const file = callerFile(callee);
    return this.isOfLoader(file) || this.isOfNode(file);
  }

  /**
   * Hands Node's undici, while it loads, a `stream.finished` that says when a body has come to its end, for that is
   * where it reads the clock: without it the caller of some reads of each call would have to be looked at, 30 µs each.
   *
   * What: `finished` of node:stream, until the returned function is called. Why here: undici takes its reference while
   * it loads; the program keeps the original. What breaks when it goes wrong: no fetch would end.
   */
  listenWhileLoading(): () => void {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- loaded with undici, not at start-up
    const stream = require('node:stream') as { finished: Finished };
    const original = stream.finished;
    if (LISTENING in original) return () => undefined;
    const finished = (...args: unknown[]): unknown => {
      const last = args.at(-1);
      // The end of the first fetch may have been told before: its read is heard now.
      if (!this.hearsEnds) this.expected = 0;
      this.hearsEnds = true;
      if (typeof last === 'function') args[args.length - 1] = this.heard(last as Finished);
      return Reflect.apply(original, stream, args) as unknown;
    };
    stream.finished = Object.assign(finished, { [LISTENING]: true });
    return () => {
      if (stream.finished === finished) stream.finished = original;
    };
  }

  private heard(callback: Finished): Finished {
    return (...args) => {
      this.ends += 1;
      try {
        return callback(...args);
      } finally {
        this.ends -= 1;
      }
    };
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
