import { randomBytes } from 'node:crypto';
import { originals } from './originals';
import { Prng } from './prng';

/**
 * Trace, span and run ids. One real draw seeds a generator of our own: ids drawn from `Math.random` would change the
 * program's sequence under `--random-seed`.
 */
export class IdSource {
  private readonly prng = new Prng(randomBytes(24).toString('hex'));

  private hex(digits: number): string {
    let out = '';
    while (out.length < digits) out += this.prng.uint32().toString(16).padStart(8, '0');
    return out.slice(0, digits);
  }

  /** 32 hex digits, not all zero (W3C Trace Context). */
  traceId(): string {
    return this.nonZero(32);
  }

  /** 16 hex digits, not all zero. */
  spanId(): string {
    return this.nonZero(16);
  }

  private nonZero(digits: number): string {
    for (;;) {
      const id = this.hex(digits);
      if (/[1-9a-f]/.test(id)) return id;
    }
  }

  /** Sorts by time: `20261201-093000-1a2b3c4d`. */
  runId(nowMs: number): string {
    const stamp = new originals.Date(nowMs).toISOString().replace(/[-:]/g, '').replace('T', '-').slice(0, 15);
    return `${stamp}-${this.hex(8)}`;
  }
}
