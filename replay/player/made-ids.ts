import type { ExchangeRecord } from '../../instrumentation/schema/records';
import { idsIn } from './call-key';
import type { SameId } from './call-key';
import type { ProcessRecording } from './process-recording';

/**
 * Ids that the program or the model made differ between runs; those that the program was given do not, and another one is
 * another question: another customer must never get the recorded answer. So the recorded id must have been drawn, or come
 * in an answer of the model, and the other one must be new.
 */
export function sameMadeId(own: Pick<ProcessRecording, 'ambient' | 'exchanges'>): SameId {
  let made: ReadonlySet<string> | undefined;
  let known: ReadonlySet<string> | undefined;
  return (recorded, replayed) => {
    made ??= new Set([...drawnIds(own.ambient), ...own.exchanges.filter(isLlm).flatMap(answeredIds)]);
    if (!made.has(recorded.toLowerCase())) return false;
    known ??= new Set(own.exchanges.flatMap((call) => [...askedIds(call), ...answeredIds(call)]));
    return !known.has(replayed.toLowerCase());
  };
}

const isLlm = (call: ExchangeRecord): boolean => call.kind === 'llm';

const lower = (ids: readonly string[]): string[] => ids.map((id) => id.toLowerCase());

function askedIds(call: ExchangeRecord): string[] {
  return lower(idsIn(call.request.body.toString('utf8')));
}

function answeredIds(call: ExchangeRecord): string[] {
  const chunks = call.response?.chunks ?? [];
  return lower(idsIn(Buffer.concat(chunks.map((chunk) => chunk.bytes)).toString('utf8')));
}

function drawnIds(ambient: ProcessRecording['ambient']): string[] {
  return [...ambient.values()].flatMap(({ draws }) =>
    draws.flatMap(({ op, bytes }) => (op === 'uuid' ? [bytes.toString('latin1')] : uuidsOf(bytes))),
  );
}

/** Libraries make a version 4 UUID of 16 drawn bytes (RFC 9562, section 5.4), some of them many from one draw. */
function uuidsOf(bytes: Buffer): string[] {
  const uuids: string[] = [];
  for (let at = 0; at + 16 <= bytes.length; at += 16) {
    const own = Buffer.from(bytes.subarray(at, at + 16));
    own[6] = ((own[6] ?? 0) & 0x0f) | 0x40;
    own[8] = ((own[8] ?? 0) & 0x3f) | 0x80;
    uuids.push(own.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'));
  }
  return uuids;
}
