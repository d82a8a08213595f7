import type { ExchangeObserver, ExchangeStart } from '../../../instrumentation/exchange-observer';
import type { HeaderList, Outcome, RecordedError } from '../../../instrumentation/schema/records';

/** What a tap told of one exchange. */
export interface Collected extends ExchangeStart {
  readonly requestBody: Buffer[];
  head?: { status: number; statusText: string; headers: HeaderList };
  readonly chunks: Buffer[];
  trailers: HeaderList;
  readonly ends: { outcome: Outcome; error?: RecordedError }[];
  /** Names of the calls in their order. */
  readonly calls: string[];
}

/** An observer that keeps everything it is told. */
export class CollectedExchanges implements ExchangeObserver {
  readonly all: Collected[] = [];
  readonly failures: unknown[] = [];
  correlation: readonly [string, string] | undefined;
  wants: (info: ExchangeStart) => boolean = () => true;

  readonly onFailure = (_place: string, error: unknown): void => {
    this.failures.push(error);
  };

  readonly start: ExchangeObserver['start'] = (info) => {
    if (!this.wants(info)) return undefined;
    const one: Collected = { ...info, requestBody: [], chunks: [], trailers: [], ends: [], calls: ['start'] };
    this.all.push(one);
    return {
      ...(this.correlation === undefined ? {} : { correlation: this.correlation }),
      requestBody: (bytes) => {
        one.calls.push('requestBody');
        one.requestBody.push(Buffer.from(bytes));
      },
      responseHead: (head) => {
        one.calls.push('responseHead');
        one.head = head;
      },
      chunk: (bytes) => {
        one.calls.push('chunk');
        one.chunks.push(Buffer.from(bytes));
      },
      trailers: (trailers) => {
        one.calls.push('trailers');
        one.trailers = trailers;
      },
      end: (outcome, error) => {
        one.calls.push('end');
        one.ends.push({ outcome, ...(error === undefined ? {} : { error }) });
      },
    };
  };

  get only(): Collected {
    if (this.all.length !== 1) throw new Error(`expected one exchange, got ${this.all.length}`);
    return this.all[0] as Collected;
  }

  /** Outcomes in order of start; an exchange without an end is `open`, one ended twice says so. */
  get outcomes(): string[] {
    return this.all.map(({ ends }) => (ends.length > 1 ? `${ends.length} ends` : (ends[0]?.outcome ?? 'open')));
  }
}

/** Fails in every call, as a recorder must never do. */
export const throwingObserver: ExchangeObserver = {
  start: () => ({
    get correlation(): never {
      throw new Error('correlation');
    },
    requestBody: fail,
    responseHead: fail,
    chunk: fail,
    trailers: fail,
    end: fail,
  }),
};

function fail(): never {
  throw new Error('the observer fails');
}

export function body(pieces: readonly Buffer[]): string {
  return Buffer.concat(pieces).toString();
}
