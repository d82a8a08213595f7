/** What the key of the observation that an inbound request is recorded as begins with. */
export const INBOUND = 'inbound ';

/** On the socket of a request that a replay sends again: the span id of the recorded one. */
export const RESENT = Symbol.for('reenact.resent-request');

/** What a server was asked, as the arguments of the observation. */
export interface InboundArgs {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer | string;
  /** Port of the server, and address of the client, where the connection had such. */
  readonly port?: number;
  readonly from?: string;
}

/** What it answered. */
export interface InboundAnswer {
  readonly status: number;
  readonly bytes: number;
  readonly sha256: string;
}
