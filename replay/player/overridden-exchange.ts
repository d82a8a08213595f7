import { describeExchange } from '../../instrumentation/providers/describe';
import { ReenactError } from '../../instrumentation/schema/errors';
import type { ExchangeRecord, HeaderList } from '../../instrumentation/schema/records';
import { applyOverride } from './overrides';
import type { Override } from './overrides';

/** Headers that describe the recorded bytes and no longer fit. */
const BODY_HEADERS = /^(content-length|content-encoding|transfer-encoding|content-type|content-md5|etag)$/i;

/**
 * The recorded exchange with another answer, in the form the program asked for (a stream stays a stream).
 * @throws ReenactError SET_INVALID when no provider knows the exchange
 */
export function overriddenExchange(record: ExchangeRecord, override: Override): ExchangeRecord {
  const described = describeExchange(record.request, record.response);
  if (described === undefined)
    throw new ReenactError('SET_INVALID', `--set ${override.text}: no provider recognises ${record.request.url}`);
  const { provider, request, response } = described;
  const recorded = response?.error === undefined ? response?.body : undefined;
  const body = override.isText
    ? provider.withText(String(override.value), request, recorded)
    : (applyOverride(override, recorded) as Record<string, unknown>);
  const { contentType, pieces } = provider.encodeResponse(body, request);
  const start = record.response?.headSeq ?? record.seqEnd;
  const headers: HeaderList = [
    ...(record.response?.headers ?? []).filter(([name]) => !BODY_HEADERS.test(name)),
    ['content-type', contentType],
    ['transfer-encoding', 'chunked'],
  ];
  const endMs = record.endMs - record.startMs;
  return {
    ...record,
    outcome: 'ok',
    response: {
      status: 200,
      statusText: 'OK',
      headers,
      headSeq: start,
      headMs: record.response?.headMs ?? endMs,
      // Fractions keep the pieces apart: a made-up stream comes event by event.
      chunks: pieces.map((bytes, index) => ({ seq: start + (index + 1) / (pieces.length + 1), ms: endMs, bytes })),
      trailers: [],
    },
  };
}
