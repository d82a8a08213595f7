import type { HeaderList } from '../instrumentation/schema/records';
import { applyDifference } from './payload-codec';
import type { ReportGap } from './read-span';

interface StoredBody {
  readonly bytes: Buffer;
  /** Absent: `bytes` is the whole body. */
  readonly base?: { readonly spanId: string; readonly prefix: number; readonly suffix: number };
  readonly length: number;
}

/** Bodies rebuilt last, kept because the next one asked for usually follows from one of them. */
const KEPT = 8;

/**
 * The request bodies of a recording, each stored once as its difference, and rebuilt when asked for: all of them at
 * once would be quadratic in the length of a conversation.
 */
export class ExchangeBodies {
  private readonly stored = new Map<string, StoredBody>();
  private readonly headers = new Map<string, { request: HeaderList; response: HeaderList | undefined }>();
  private readonly recent = new Map<string, Buffer>();

  constructor(private readonly report: ReportGap) {}

  /** Adds a body; false when it cannot be rebuilt, with the gap named. */
  add(spanId: string, bytes: Buffer, base: unknown): boolean {
    if (base === undefined) {
      this.stored.set(spanId, { bytes, length: bytes.length });
      return true;
    }
    const [baseId, prefix, suffix] = Array.isArray(base) ? (base as unknown[]) : [];
    if (typeof baseId !== 'string' || !isLength(prefix) || !isLength(suffix)) return false;
    const earlier = this.stored.get(baseId);
    if (earlier === undefined || prefix + suffix > earlier.length) return false;
    this.stored.set(spanId, {
      bytes,
      base: { spanId: baseId, prefix, suffix },
      length: prefix + bytes.length + suffix,
    });
    return true;
  }

  /** The whole body of a span that was added. Iterative: a chain may be thousands long. */
  get(spanId: string): Buffer {
    const steps: StoredBody[] = [];
    let id = spanId;
    let body = this.recent.get(id);
    while (body === undefined) {
      const stored = this.stored.get(id);
      if (stored === undefined) return Buffer.alloc(0);
      if (stored.base === undefined) body = stored.bytes;
      else {
        steps.push(stored);
        id = stored.base.spanId;
        body = this.recent.get(id);
      }
    }
    for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
      const { prefix, suffix } = step.base ?? { prefix: 0, suffix: 0 };
      body = applyDifference(body, { prefix, suffix, middle: step.bytes }) ?? Buffer.alloc(0);
    }
    this.keep(spanId, body);
    return body;
  }

  private keep(spanId: string, body: Buffer): void {
    this.recent.delete(spanId);
    this.recent.set(spanId, body);
    for (const oldest of this.recent.keys()) {
      if (this.recent.size <= KEPT) break;
      this.recent.delete(oldest);
    }
  }

  setHeaders(spanId: string, request: HeaderList, response: HeaderList | undefined): void {
    this.headers.set(spanId, { request, response });
  }

  getHeaders(spanId: string): { request: HeaderList; response: HeaderList | undefined } | undefined {
    return this.headers.get(spanId);
  }
}

const isLength = (n: unknown): n is number => typeof n === 'number' && Number.isSafeInteger(n) && n >= 0;
