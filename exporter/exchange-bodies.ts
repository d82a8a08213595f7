import type { HeaderList } from '../instrumentation/schema/records';
import { applyDifference } from './payload-codec';
import { decodeHeaders } from './header-codec';
import type { LostRequests } from './lost-requests';

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

  constructor(private readonly lost: LostRequests) {}

  /** Adds a body; false when it cannot be rebuilt, with the gap named. */
  add(spanId: string, bytes: Buffer, base: unknown): boolean {
    const [baseId] = Array.isArray(base) ? (base as unknown[]) : [];
    if (typeof baseId === 'string' && !this.stored.has(baseId)) this.restore(baseId);
    return this.addStored(spanId, bytes, base);
  }

  private addStored(spanId: string, bytes: Buffer, base: unknown): boolean {
    if (base === undefined) {
      this.stored.set(spanId, { bytes, length: bytes.length });
      return true;
    }
    const [baseId, prefix, suffix] = Array.isArray(base) ? (base as unknown[]) : [];
    if (typeof baseId !== 'string' || !isLength(prefix) || !isLength(suffix)) return false;
    const earlier = this.stored.get(baseId);
    if (earlier === undefined || prefix + suffix > earlier.length) return false;
    const length = prefix + bytes.length + suffix;
    this.stored.set(spanId, { bytes, base: { spanId: baseId, prefix, suffix }, length });
    return true;
  }

  /** Adds a lost body that others build on, and the lost ones that it builds on. */
  private restore(spanId: string): void {
    const pending = new Map<string, { middle: Buffer; base: unknown }>();
    for (let id: unknown = spanId; typeof id === 'string' && !this.stored.has(id);) {
      const found = pending.has(id) ? undefined : this.lost.find(id);
      if (found === undefined) return;
      pending.set(id, found);
      id = Array.isArray(found.base) ? (found.base as unknown[])[0] : undefined;
    }
    for (const [id, { middle, base }] of [...pending].reverse()) {
      if (!this.addStored(id, middle, base)) return;
    }
  }

  /** The request of a span that came back without it, whole or as its difference. */
  restored(spanId: string): Buffer | undefined {
    return this.lost.find(spanId)?.middle;
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
    const known = this.headers.get(spanId);
    if (known !== undefined) return known;
    const [request, response] = this.lost.find(spanId)?.headers ?? [];
    const requestHeaders = decodeHeaders(request);
    if (requestHeaders === undefined) return undefined;
    this.setHeaders(spanId, requestHeaders, decodeHeaders(response));
    return this.headers.get(spanId);
  }
}

const isLength = (n: unknown): n is number => typeof n === 'number' && Number.isSafeInteger(n) && n >= 0;
