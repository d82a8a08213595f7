import { randomBytes } from 'node:crypto';
import type { OtlpSpan, OtlpValue } from '../../exporter/otlp';
import { parseOtlpJson, readOtlpJson } from '../../exporter/otlp-json';
import { decodeSpans } from '../../exporter/span-decoder';
import { createEncoderState, encodeRecord } from '../../exporter/span-encoder';
import type { AnyRecord, ExchangeRecord, Recording } from '../../instrumentation/schema/records';
import { exchange, hex, samples } from './record-samples';

const resource = { attributes: [] };
const decode = (spans: OtlpSpan[]): Recording => decodeSpans(spans.map((span) => ({ resource, span })));
const encode = (records: AnyRecord[]): OtlpSpan[] => {
  const state = createEncoderState();
  return records.map((record) => encodeRecord(record, state));
};
const mapValues = (span: OtlpSpan, change: (value: OtlpValue, key: string) => OtlpValue): OtlpSpan => ({
  ...span,
  attributes: span.attributes.map(({ key, value }) => ({ key, value: change(value, key) })),
});

/** A conversation that grows by one message of `size` characters a turn. */
function conversation(turns: number, size: number): ExchangeRecord[] {
  const messages: unknown[] = [];
  return Array.from({ length: turns }, (_, i) => {
    messages.push({ role: 'user', content: randomBytes(size).toString('base64').slice(0, size) });
    return exchange(JSON.stringify({ model: 'm', messages }), { spanId: hex(8), seqStart: 10 * i, seqEnd: 10 * i + 9 });
  });
}

test('survives a Tempo that cuts strings at 2,048 bytes and leaves array items', () => {
  const records = samples();
  const cut = (value: OtlpValue): OtlpValue =>
    value.stringValue === undefined ? value : { stringValue: value.stringValue.slice(0, 2048) };
  const recording = decode(encode(records).map((span) => mapValues(span, cut)));
  expect(recording.gaps).toEqual([]);
  expect(recording.calls).toHaveLength(records.filter((record) => 'seqStart' in record).length);
});

test('survives a Jaeger storage that returns arrays as JSON text', () => {
  const records = samples().filter((record) => !('attributes' in record));
  const flat = (value: OtlpValue): OtlpValue =>
    value.arrayValue === undefined
      ? value
      : { stringValue: JSON.stringify(value.arrayValue.values?.map((item) => item.stringValue)) };
  const spans = encode(records);
  expect(decode(spans.map((span) => mapValues(span, flat)))).toEqual(decode(spans));
});

test('survives doubled spans, upper-case ids and base64 ids', () => {
  const spans = encode(samples());
  const base64 = (id: string) => Buffer.from(id, 'hex').toString('base64');
  const upper = spans.map((span) => ({
    ...span,
    spanId: span.spanId.toUpperCase(),
    traceId: span.traceId.toUpperCase(),
  }));
  const tempo = spans.map((span) => ({
    ...span,
    spanId: base64(span.spanId),
    traceId: base64(span.traceId),
    ...(span.parentSpanId !== undefined && { parentSpanId: base64(span.parentSpanId) }),
  }));
  expect(decode([...upper, ...spans, ...tempo].reverse())).toEqual(decode(spans));
  expect(decode(tempo)).toEqual(decode(spans));
});

test.each([
  ['Jaeger', (spans: OtlpSpan[]) => ({ result: { resourceSpans: [{ resource, scopeSpans: [{ spans }] }] } })],
  ['Tempo v1', (spans: OtlpSpan[]) => ({ batches: [{ scopeSpans: [{ spans }] }] })],
  ['Tempo v2', (spans: OtlpSpan[]) => ({ trace: { resourceSpans: [{ scopeSpans: [{ spans }] }] }, status: 'PARTIAL' })],
])('reads the document of %s', (_name, wrap) => {
  const spans = encode(samples());
  const read = readOtlpJson(JSON.parse(JSON.stringify(wrap(spans))) as unknown);
  expect(decodeSpans(read)).toEqual(decode(spans));
});

test('a body cut at 2,048 bytes is named with the lengths and the limit', () => {
  const record = exchange('a'.repeat(9000), { spanId: '00000000000000aa' });
  const [span] = encode([record]) as [OtlpSpan];
  const cut = mapValues(span, (value, key) =>
    key === 'reenact.request.body' ? { stringValue: 'a'.repeat(2048) } : value,
  );
  const { calls, gaps } = decode([cut]);
  expect(calls).toEqual([]);
  expect(gaps).toEqual([
    {
      code: 'PAYLOAD_DAMAGED',
      spanId: '00000000000000aa',
      sessionId: 's1',
      message:
        'span 00000000000000aa (llm "llm call"): reenact.request.body is damaged, expected 9000 bytes, found 2048; ' +
        'likely the 2,048-byte limit of Tempo (distributor.max_attribute_bytes)',
    },
  ]);
});

test('an attribute that was dropped or changed is named', () => {
  const spans = encode([exchange('{}'), exchange('{"a":1}'), exchange('{"b":1}')]);
  const [dropped, changed, scope] = [
    { ...spans[0], attributes: spans[0]?.attributes.filter(({ key }) => key !== 'reenact.response.body') },
    mapValues(spans[1] as OtlpSpan, (value, key) =>
      key === 'reenact.request.body' ? { stringValue: '{"a":2}' } : value,
    ),
    mapValues(spans[2] as OtlpSpan, (value, key) => (key === 'reenact.scope' ? { stringValue: 'x' } : value)),
  ] as [OtlpSpan, OtlpSpan, OtlpSpan];
  const { calls, gaps } = decode([dropped, changed, scope]);
  expect(calls).toEqual([]);
  expect(gaps.map((gap) => gap.message)).toEqual([
    expect.stringContaining('reenact.record is damaged'),
    expect.stringContaining('reenact.response.body is damaged'),
    expect.stringContaining('the content was changed on the way'),
  ]);
});

test('a span that did not come back is named with its number', () => {
  const spans = encode(samples());
  spans.splice(1, 1);
  expect(decode(spans).gaps.map((gap) => gap.message)).toEqual([
    expect.stringMatching(/^1 of \d+ spans of session "s1" in process 0 did not come back: number 1$/),
  ]);
});

test('a foreign span is passed over and an unknown kind is named', () => {
  const [span] = encode([exchange('{}')]) as [OtlpSpan];
  const foreign = { ...span, spanId: hex(8), attributes: [{ key: 'http.method', value: { stringValue: 'GET' } }] };
  expect(decode([foreign])).toMatchObject({ calls: [], gaps: [] });
  const state = createEncoderState();
  const future = encodeRecord({ ...exchange('{}'), kind: 'websocket' } as unknown as AnyRecord, state);
  expect(decode([future]).gaps[0]?.message).toContain('kind "websocket" is not known here');
});

test('garbage gives gaps or an error with a code, never another exception', () => {
  const forged = [
    'null',
    '[]',
    '{"resourceSpans":3}',
    '{"resourceSpans":[null,{"scopeSpans":[{"spans":[{"attributes":[null,{"key":"reenact.kind"}]}]}]}]}',
  ];
  for (const text of forged) expect(decodeSpans(parseOtlpJson(text)).calls).toEqual([]);
  expect(() => parseOtlpJson('{')).toThrow(expect.objectContaining({ code: 'LOG_INVALID' }));
});

test('bytes grow with new content only', () => {
  const size = (turns: number) =>
    encode(conversation(turns, 2000)).reduce((sum, span) => sum + JSON.stringify(span).length, 0);
  expect(size(200)).toBeLessThan(200 * (1.5 * 2000 + 1500));
  expect(size(200) / size(50)).toBeLessThan(4.5);
});

test('a conversation that does not grow has key frames, so that a lost span costs a bounded stretch', () => {
  const records = Array.from({ length: 200 }, (_, i) =>
    exchange(`{"system":"${'s'.repeat(200)}","input":"${randomBytes(600).toString('hex')}"}`, {
      spanId: hex(8),
      seqStart: 10 * i,
      seqEnd: 10 * i + 9,
    }),
  );
  const spans = encode(records);
  spans.splice(100, 1);
  expect(decode(spans).calls.length).toBeGreaterThan(199 - 40);
});
