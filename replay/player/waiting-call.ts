import type { WireRequest } from '../../instrumentation/schema/records';
import type { IncomingCall } from '../network/virtual-network';

/** An HTTP request of the program that waits for its answer. */
export interface WaitingCall {
  readonly incoming: IncomingCall;
  /** As matched: redacted like the recording. */
  readonly request: WireRequest;
  /** Scope in which it was made; unknown for clients that no tap sees. */
  readonly scope: string | undefined;
}
