import { createHash } from 'node:crypto';
import type { OtlpValue } from '../../exporter/otlp';
import { decodeSpans } from '../../exporter/span-decoder';
import { createEncoderState, encodeRecord } from '../../exporter/span-encoder';
import { exchange } from './record-samples';

const resource = { attributes: [] };
const digest = (bytes: Buffer): string => `${bytes.length} ${createHash('sha1').update(bytes).digest('hex')}`;
const asText = (value: OtlpValue): string =>
  value.stringValue ?? JSON.stringify(value.arrayValue?.values?.map((item) => item.stringValue));

test.each([
  ['80 KB of text', Buffer.from('naïve 🙂 text. '.repeat(5000))],
  ['120 KB of quotes', Buffer.from('"\\'.repeat(60_000))],
  ['5 MB of base64', Buffer.from('QUJD'.repeat(1_250_000))],
  ['100 KB that is no text', Buffer.from(Array.from({ length: 100_000 }, (_, i) => (i * 7) & 0xff))],
])('no attribute of a span with %s is longer than an index key of Badger, and it comes back', (_name, body) => {
  const span = encodeRecord(exchange(body), createEncoderState());
  const longest = Math.max(...span.attributes.map(({ value }) => Buffer.byteLength(asText(value))));
  expect(longest).toBeLessThan(60_000);
  expect(span.attributes.length).toBeLessThanOrEqual(120);
  // As Badger gives arrays back.
  const flat = span.attributes.map(({ key, value }) => ({
    key,
    value: value.intValue === undefined ? { stringValue: asText(value) } : value,
  }));
  for (const attributes of [span.attributes, flat]) {
    const { calls, gaps } = decodeSpans([{ resource, span: { ...span, attributes } }]);
    const [call] = calls;
    expect(call !== undefined && 'request' in call && digest(call.request.body)).toBe(digest(body));
    expect(gaps).toEqual([]);
  }
});

test('a lost part of a payload is damage, with its length', () => {
  const span = encodeRecord(exchange(Buffer.from('x'.repeat(200_000))), createEncoderState());
  const attributes = span.attributes.filter(({ key }) => key !== 'reenact.request.body.3');
  const { calls, gaps } = decodeSpans([{ resource, span: { ...span, attributes } }]);
  expect(calls).toEqual([]);
  expect(gaps[0]?.message).toMatch(/reenact\.request\.body is damaged, expected 200000 bytes/);
});
