import { isCalledByNode } from './caller';

/** Reads of the program that are looked at, at most, for each one that is expected of Node. */
const LOOKS = 16;

/**
 * Tells the clock reads of Node's built-in undici from the program's: it reads `Date.now` once at the end of each
 * fetch. To look at the caller of every read would cost ten times the read, so it is done only while one is expected.
 */
export class InternalReads {
  private expected = 0;
  private looks = 0;

  /** A fetch has ended. */
  expect(): void {
    this.expected += 1;
    this.looks = LOOKS;
  }

  /** @param callee the patched function that was called, to find its caller in the stack. */
  isInternal(callee: ((...args: never[]) => unknown) | undefined): boolean {
    if (this.expected === 0 || callee === undefined) return false;
    if (isCalledByNode(callee)) {
      this.expected -= 1;
      return true;
    }
    this.looks -= 1;
    // A body that is never read to its end leaves its read out.
    if (this.looks <= 0) this.expected = 0;
    return false;
  }
}
