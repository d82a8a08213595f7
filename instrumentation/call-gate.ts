import type { CallRecord } from './schema/records';

/** A function-level call about to happen: a tool or an observation. */
export interface GateCall {
  readonly kind: 'tool' | 'observation';
  readonly name: string;
  /** Typed JSON of the arguments. */
  readonly args: unknown;
  readonly scope: string;
  readonly sessionId: string;
  readonly replay: 'substitute' | 'run';
}

/**
 * What the gate decides: `run` the function, or answer in its place. `answer` holds for functions that were recorded
 * as synchronous, `promise` for all others; `error` is thrown as it is.
 */
export type GateVerdict =
  | { readonly action: 'run' }
  | { readonly action: 'answer'; readonly value: unknown }
  | { readonly action: 'throw'; readonly error: unknown }
  | { readonly action: 'promise'; readonly promise: Promise<unknown> };

/** The seam between recording, which knows only this interface, and replay, which implements it. */
export interface CallGate {
  decide(call: GateCall): GateVerdict;
  /** A decision or an outcome was stated by the program; a replay compares it. */
  note(record: CallRecord): void;
}

const RUN: GateVerdict = { action: 'run' };

/** Recording: everything runs. */
export const liveGate: CallGate = { decide: () => RUN, note: () => undefined };
