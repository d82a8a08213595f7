import type { HeaderList, Outcome, RecordedError } from './schema/records';

/** What a tap knows when a request leaves the client. */
export interface ExchangeStart {
  readonly transport: 'undici' | 'node-http';
  readonly method: string;
  /** Absolute URL. */
  readonly url: string;
  readonly headers: HeaderList;
}

/**
 * One HTTP attempt under observation. A tap calls these as things happen, just before the program sees the event: what
 * the program does in answer to it then comes after it in the order of the recording.
 * None throws. `end` counts once; later calls of any method are ignored.
 */
export interface ExchangeRecorder {
  /** Set in replays: the tap adds this request header, by which the in-process server finds the call again. */
  readonly correlation?: readonly [name: string, value: string];
  requestBody(bytes: Uint8Array): void;
  responseHead(head: { status: number; statusText: string; headers: HeaderList }): void;
  chunk(bytes: Uint8Array): void;
  trailers(trailers: HeaderList): void;
  end(outcome: Outcome, error?: RecordedError): void;
}

/** Implemented by the recorder; a tap knows nothing else of it. */
export interface ExchangeObserver {
  /** `undefined`: this exchange is not recorded (switched off, excluded, or our own). Synchronous context counts. */
  start(info: ExchangeStart): ExchangeRecorder | undefined;
}
