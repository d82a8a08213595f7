import { describeExchange } from '../../instrumentation/providers/describe';
import type { ExchangeRecord, WireRequest } from '../../instrumentation/schema/records';
import { routeOf } from './call-key';
import type { WaitingCall } from './waiting-call';

/** What must agree for a recorded answer to stand in the place of an edited call. */
function shapeOf(request: WireRequest): string {
  const described = describeExchange(request);
  return described === undefined
    ? `http ${routeOf(request)}`
    : `${described.provider.id} ${described.provider.shape(described.request)}`;
}

/** Length of the common end of two bodies: the newest message stands last. */
function commonEnd(a: Buffer, b: Buffer): number {
  let n = 0;
  while (n < a.length && n < b.length && a[a.length - 1 - n] === b[b.length - 1 - n]) n += 1;
  return n;
}

/**
 * Gives each call of a wave the unused recording of its place: same scope and shape, the most alike first, the earlier
 * first when they are equally alike. A recording is given once.
 */
export function assignWave(
  wave: readonly WaitingCall[],
  unused: readonly ExchangeRecord[],
): Map<WaitingCall, ExchangeRecord> {
  const shapes = new Map<ExchangeRecord, string>();
  const shape = (record: ExchangeRecord): string => {
    const known = shapes.get(record) ?? shapeOf(record.request);
    shapes.set(record, known);
    return known;
  };
  const pairs: { call: WaitingCall; record: ExchangeRecord; score: number; order: number }[] = [];
  wave.forEach((call, callOrder) => {
    const wanted = shapeOf(call.request);
    const places = unused.filter(
      (record) => (call.scope === undefined || record.scope === call.scope) && shape(record) === wanted,
    );
    places.forEach((record, placeOrder) => {
      pairs.push({
        call,
        record,
        score: commonEnd(call.request.body, record.request.body),
        order: Math.abs(callOrder - placeOrder),
      });
    });
  });
  // With one call in the wave its place is the earliest recording; likeness decides only between several.
  pairs.sort(
    (a, b) => (wave.length > 1 ? b.score - a.score : 0) || a.order - b.order || a.record.seqStart - b.record.seqStart,
  );
  const assigned = new Map<WaitingCall, ExchangeRecord>();
  const taken = new Set<ExchangeRecord>();
  for (const { call, record } of pairs) {
    if (assigned.has(call) || taken.has(record)) continue;
    assigned.set(call, record);
    taken.add(record);
  }
  return assigned;
}
