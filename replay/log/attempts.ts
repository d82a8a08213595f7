import type { ExchangeRecord } from '../../instrumentation/schema/records';

/** Answers that SDKs send a request again for. */
const RETRYABLE: ReadonlySet<number> = new Set([408, 409, 429]);

const RETRY_COUNT = 'x-stainless-retry-count';

/** The HTTP attempts of one call as the program sees it. */
export type Attempts = readonly [ExchangeRecord, ...ExchangeRecord[]];

/**
 * Groups HTTP attempts into logical calls: an attempt continues an earlier one of the same session, scope and request
 * that had ended in a way that clients retry, or when it says itself that it is a retry.
 */
export function groupAttempts(exchanges: readonly ExchangeRecord[]): Attempts[] {
  const groups: [ExchangeRecord, ...ExchangeRecord[]][] = [];
  const open = new Map<string, [ExchangeRecord, ...ExchangeRecord[]][]>();
  for (const exchange of exchanges) {
    const key = [
      exchange.processPath,
      exchange.sessionId,
      exchange.scope,
      exchange.request.method,
      pathOf(exchange),
    ].join('\n');
    const candidates = open.get(key) ?? [];
    const group = candidates.findLast((candidate) => continues(exchange, candidate));
    if (group !== undefined) {
      group.push(exchange);
      continue;
    }
    const started: [ExchangeRecord] = [exchange];
    groups.push(started);
    open.set(key, [...candidates.slice(-63), started]);
  }
  return groups;
}

function continues(exchange: ExchangeRecord, group: Attempts): boolean {
  const last = group[group.length - 1] ?? group[0];
  return (
    last.seqEnd < exchange.seqStart &&
    (saysRetry(exchange) ? failed(last) : retryable(last)) &&
    last.request.body.equals(exchange.request.body)
  );
}

/** Number of the retry that a request claims to be; SDKs made by Stainless send it. */
function saysRetry(exchange: ExchangeRecord): boolean {
  const header = exchange.request.headers.find(([name]) => name.toLowerCase() === RETRY_COUNT);
  return header !== undefined && Number(header[1]) > 0;
}

function failed(exchange: ExchangeRecord): boolean {
  return exchange.outcome !== 'ok' || (exchange.response?.status ?? 0) >= 400;
}

function retryable(exchange: ExchangeRecord): boolean {
  const status = exchange.response?.status;
  if (status === undefined) return exchange.outcome === 'error';
  return RETRYABLE.has(status) || status >= 500;
}

function pathOf(exchange: ExchangeRecord): string {
  const query = exchange.request.url.indexOf('?');
  return query < 0 ? exchange.request.url : exchange.request.url.slice(0, query);
}
