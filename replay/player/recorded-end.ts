/** Ends a replayed process as it was recorded, for a program that ended inside a call which is not made for real. */
export class RecordedEnd {
  private readonly exitCode: number | undefined;
  private expected = false;

  /** @param exitCode of the recorded process; `undefined` when it did not end in an orderly way */
  constructor(exitCode: number | undefined) {
    this.exitCode = exitCode;
  }

  /** The call under way has ended the process. */
  now(): void {
    if (this.exitCode !== undefined) process.exit(this.exitCode);
  }

  /** The end came while the call was waited for: when nothing else is left to do, it has come. */
  atRest(): void {
    if (this.expected || this.exitCode === undefined) return;
    this.expected = true;
    process.once('beforeExit', () => process.exit(this.exitCode));
  }
}
