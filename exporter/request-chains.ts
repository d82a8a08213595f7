import type { ExchangeRecord, HeaderList } from '../instrumentation/schema/records';
import { difference, type Difference } from './payload-codec';
import { parityHead, RequestParity, type ParityNote } from './request-parity';

/** A span holds all headers at the latest after this many: more than one lost span costs a bounded stretch. */
const HEADER_FRAME_EVERY = 48;
/** A difference is worth its reference from this many common bytes. */
const WORTH_BYTES = 64;
/** Share of all bytes stored so far that key frames may take: keeps the whole linear. */
const KEY_FRAME_SHARE = 0.3;
/** Longest chain of differences where a key frame is cheap. */
const CHAIN_LIMIT = 32;
/** From how many uncovered requests on the end of a session carries their parity. */
const WORTH_CLOSING = 3;
/** Bodies kept to compare the next one with; beyond it the oldest chains begin anew. */
const MAX_KEPT_BYTES = 32 * 1024 * 1024;

interface Chain {
  spanId: string;
  body: Buffer;
  /** Differences since the last key frame. */
  length: number;
  /** Bytes stored by this chain, and how many of them were repeated by key frames. */
  stored: number;
  repeated: number;
  parity: RequestParity;
  headers: { spanId: string; request: HeaderList; response: HeaderList | undefined; age: number };
}

/** How the request of one exchange is to be stored. */
export interface Placement {
  readonly base?: string;
  readonly diff?: Difference;
  /** Over the requests before this one; see RequestParity. */
  readonly parity?: { readonly note: ParityNote; readonly bytes: Buffer };
  readonly headerBase?: { readonly spanId: string; readonly request: HeaderList; readonly response?: HeaderList };
}

/** Finds the earlier request that a new one is stored against. One per process; bounded in bytes. */
export class RequestChains {
  private readonly chains = new Map<string, Chain>();
  private keptBytes = 0;

  /** `ordinal`: of the record in its process. */
  place(record: ExchangeRecord, ordinal: number): Placement {
    const { request } = record;
    const id = `${record.sessionId}\n${request.method} ${request.url.split('?', 1)[0]}`;
    const chain = this.chains.get(id);
    const diff = chain === undefined ? undefined : this.difference(chain, request.body);
    const headerBase = chain === undefined || chain.headers.age >= HEADER_FRAME_EVERY ? undefined : chain.headers;
    const parity = chain?.parity.isFull === true ? chain.parity.take() : undefined;
    const covering = chain === undefined || parity !== undefined ? new RequestParity() : chain.parity;
    covering.add({
      ordinal,
      spanId: record.spanId,
      head: parityHead(
        diff && [chain?.spanId, diff.prefix, diff.suffix],
        headerBase === undefined ? [request.headers, record.response?.headers ?? 0] : undefined,
      ),
      middle: diff?.middle ?? request.body,
    });
    this.keep(id, record, { chain, diff, sameHeaders: headerBase !== undefined, parity: covering });
    return {
      ...(chain !== undefined && diff !== undefined && { base: chain.spanId, diff }),
      ...(parity !== undefined && { parity }),
      ...(headerBase !== undefined && {
        headerBase: {
          spanId: headerBase.spanId,
          request: headerBase.request,
          ...(headerBase.response !== undefined && { response: headerBase.response }),
        },
      }),
    };
  }

  /** Parity over the last requests of a session, of its busiest address: no later exchange will cover them. */
  closing(sessionId: string): Placement['parity'] {
    let busiest: [string, RequestParity] | undefined;
    for (const [id, { parity }] of this.chains) {
      if (!id.startsWith(`${sessionId}\n`) || parity.size < Math.max(WORTH_CLOSING, busiest?.[1].size ?? 0)) continue;
      busiest = [id.slice(sessionId.length + 1), parity];
    }
    if (busiest === undefined) return undefined;
    const { note, bytes } = busiest[1].take();
    return { note: { ...note, k: busiest[0] }, bytes };
  }

  private difference(chain: Chain, body: Buffer): Difference | undefined {
    const diff = difference(chain.body, body);
    if (diff.prefix + diff.suffix < WORTH_BYTES) return undefined;
    const keyFrameFits = chain.repeated + body.length <= KEY_FRAME_SHARE * chain.stored;
    return chain.length >= CHAIN_LIMIT && keyFrameFits ? undefined : diff;
  }

  private keep(
    id: string,
    record: ExchangeRecord,
    now: { chain: Chain | undefined; diff: Difference | undefined; sameHeaders: boolean; parity: RequestParity },
  ): void {
    const { chain, diff } = now;
    const body = record.request.body;
    const received = record.response?.chunks.reduce((sum, chunk) => sum + chunk.bytes.length, 0) ?? 0;
    const headers =
      chain !== undefined && now.sameHeaders
        ? { ...chain.headers, age: chain.headers.age + 1 }
        : { spanId: record.spanId, request: record.request.headers, response: record.response?.headers, age: 1 };
    this.keptBytes += body.length - (chain?.body.length ?? 0);
    this.chains.delete(id);
    this.chains.set(id, {
      spanId: record.spanId,
      body,
      length: diff === undefined ? 0 : (chain?.length ?? 0) + 1,
      stored: (chain?.stored ?? 0) + (diff?.middle.length ?? body.length) + received,
      repeated: (chain?.repeated ?? 0) + (chain !== undefined && diff === undefined ? body.length : 0),
      parity: now.parity,
      headers,
    });
    for (const [oldId, old] of this.chains) {
      if (this.keptBytes <= MAX_KEPT_BYTES || oldId === id) break;
      this.chains.delete(oldId);
      this.keptBytes -= old.body.length;
    }
  }
}
