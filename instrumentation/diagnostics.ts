import { textOf } from './schema/text-of';

/** Counts failures of our own code by place, so that they are seen once at the end and never by the program. */
export class Diagnostics {
  private readonly counts = new Map<string, number>();
  private readonly first = new Map<string, string>();
  private readonly debug: boolean;

  constructor(debug: boolean) {
    this.debug = debug;
  }

  /** Runs our code inside the program's: what it throws is counted at `place`, and `undefined` comes back. */
  guard<T>(place: string, fn: () => T): T | undefined {
    try {
      return fn();
    } catch (error) {
      this.failed(place, error);
      return undefined;
    }
  }

  failed(place: string, error: unknown): void {
    this.counts.set(place, (this.counts.get(place) ?? 0) + 1);
    if (this.first.has(place)) return;
    const text = this.describe(error);
    this.first.set(place, text);
    if (this.debug) process.stderr.write(`reenact: ${place}: ${text}\n`);
  }

  /** The error may be the program's own, and throw when it is read: this runs inside the program too. */
  private describe(error: unknown): string {
    try {
      if (!(error instanceof Error)) return textOf(error);
      return textOf(this.debug ? (error.stack ?? error.message) : error.message);
    } catch {
      return 'unreadable value';
    }
  }

  get failures(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.counts);
  }

  /** One line for a person, or `undefined` when nothing failed. */
  summary(): string | undefined {
    if (this.counts.size === 0) return undefined;
    const parts = [...this.counts].map(([place, count]) => `${place} ${count}x (${this.first.get(place) ?? ''})`);
    return `reenact: recording is incomplete: ${parts.join('; ')}`;
  }
}
