import type { ReenactError } from '../../instrumentation/schema/errors';
import type { ExchangeRecord, HeaderList, RecordedError } from '../../instrumentation/schema/records';
import type { NetworkFault, Responder } from '../network/virtual-network';

/** One piece of an answer at its place in the recorded order. */
export interface AnswerPiece {
  readonly seq: number;
  readonly ms: number;
  run(): void;
}

/**
 * The recorded answer as pieces. What the program itself broke off is not injected: the pieces that had arrived are
 * given, then the answer stays open until the program's own abort (its timer, its code) ends it again.
 */
export function answerReleases(record: ExchangeRecord, responder: Responder): AnswerPiece[] {
  const { response, startMs } = record;
  const pieces: AnswerPiece[] = [];
  if (response !== undefined) {
    const { status, statusText, headers } = response;
    pieces.push({
      seq: response.headSeq,
      ms: startMs + response.headMs,
      run: () => responder.head({ status, statusText, headers }),
    });
    for (const chunk of response.chunks)
      pieces.push({ seq: chunk.seq, ms: startMs + chunk.ms, run: () => responder.chunk(chunk.bytes) });
  }
  const end = (run: () => void): number => pieces.push({ seq: record.seqEnd, ms: record.endMs, run });
  if (record.outcome === 'cut' || (record.outcome === 'error' && response === undefined))
    end(() => responder.destroy(socketFault(record.error)));
  else if (record.outcome === 'ok' || record.outcome === 'error') end(() => responder.end(response?.trailers));
  return pieces;
}

/**
 * What broke the socket: an error of the system, or bytes that are no HTTP, which are not in the recording: the client's
 * parser refused them. A peer that just closed has none: undici then says `UND_ERR_SOCKET`, node:http
 * `aborted` or `socket hang up` with a code of its own making.
 */
function socketFault(error: RecordedError | undefined): NetworkFault | undefined {
  const { code, message = '', name, frames } = error ?? {};
  if (code === undefined) return undefined;
  const stack = frames !== undefined && { frames };
  // Of undici's own errors only this one is about bytes that are not in the recording.
  const isRefusal = code.startsWith('HPE_') || code === 'UND_ERR_HEADERS_OVERFLOW';
  if (isRefusal) return { code, message, ...(name !== undefined && { name }), ...stack };
  return /^(read|write) E[A-Z]+/.test(message) ? { code, message, ...stack } : undefined;
}

/** What a diverged call gets over HTTP: a 400 that SDKs do not retry. */
export function answerDivergence(error: ReenactError, responder: Responder): void {
  const text = JSON.stringify({
    type: 'error',
    error: { type: 'reenact_divergence', code: error.code, message: `reenact: ${error.message}` },
  });
  const body = Buffer.from(text);
  const headers: HeaderList = [
    ['content-type', 'application/json'],
    ['content-length', String(body.length)],
    ['x-should-retry', 'false'],
  ];
  responder.together(() => {
    responder.head({ status: 400, statusText: 'Bad Request', headers });
    responder.chunk(body);
    responder.end();
  });
}
