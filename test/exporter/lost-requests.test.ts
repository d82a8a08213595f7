import { createHash, randomBytes } from 'node:crypto';
import type { OtlpSpan } from '../../exporter/otlp';
import { decodeSpans } from '../../exporter/span-decoder';
import { createEncoderState, encodeRecord } from '../../exporter/span-encoder';
import type { AnyRecord, ExchangeRecord, Recording } from '../../instrumentation/schema/records';
import { exchange, hex } from './record-samples';

const resource = { attributes: [] };
const decode = (spans: OtlpSpan[]): Recording => decodeSpans(spans.map((span) => ({ resource, span })));
const encode = (records: AnyRecord[]): OtlpSpan[] => {
  const state = createEncoderState();
  return records.map((record) => encodeRecord(record, state));
};

/** A conversation that grows by one message a turn; every seventh is large. */
function conversation(turns: number): ExchangeRecord[] {
  const messages: unknown[] = [];
  return Array.from({ length: turns }, (_, i) => {
    const size = i % 7 === 6 ? 20_000 : 500 + 13 * i;
    messages.push({ role: 'user', content: `${randomBytes(size).toString('base64')} é ${'🙂'.repeat(i % 9)}` });
    return exchange(JSON.stringify({ model: 'm', messages }), { spanId: hex(8), seqStart: 10 * i, seqEnd: 10 * i + 9 });
  });
}

const records = conversation(80);
const spans = encode(records);
const without = (...lost: number[]): OtlpSpan[] => spans.filter((_, index) => !lost.includes(index));
/** Bodies of a megabyte would make failures unreadable. */
const digest = (body: Buffer): string => `${body.length} ${createHash('sha1').update(body).digest('hex')}`;
const bodies = (recording: Recording): string[] =>
  recording.calls.map((call) => ('request' in call ? digest(call.request.body) : ''));
const expected = (...lost: number[]): string[] =>
  records.filter((_, index) => !lost.includes(index)).map((record) => digest(record.request.body));

test.each([0, 1, 22, 23, 24, 25, 30, 47, 48, 49, 50, 71])(
  'when span %i of a growing conversation is lost, the calls after it come back whole',
  (lost) => {
    const recording = decode(without(lost));
    expect(bodies(recording)).toEqual(expected(lost));
    expect(recording.calls.map((call) => 'request' in call && call.request.headers)).toEqual(
      records.filter((_, index) => index !== lost).map((record) => record.request.headers),
    );
    expect(recording.gaps.map((gap) => gap.message)).toEqual([
      expect.stringMatching(new RegExp(`^1 of 80 spans of session .* did not come back: number ${lost + 1}$`)),
    ]);
  },
);

test('one lost span in each group is made good for', () => {
  expect(bodies(decode(without(3, 30, 60)))).toEqual(expected(3, 30, 60));
});

test('when two spans of one group are lost, what depends on them is named, and nothing before them', () => {
  const recording = decode(without(35, 36));
  expect(bodies(recording)).toEqual(expected(...Array.from({ length: 45 }, (_, i) => 35 + i)));
  expect(recording.gaps).toHaveLength(1 + 43);
  expect(recording.gaps.map((gap) => gap.message).join()).toContain('its request builds on span');
});

test('without the end of the session its last spans are not covered, and a loss among them is named', () => {
  const recording = decode(without(78));
  expect(bodies(recording)).toEqual(expected(78, 79));
  expect(recording.gaps.map((gap) => gap.message).join()).toContain(`builds on span ${spans[78]!.spanId}`);
});

test.each([0, 1, 4, 8, 9])('the end of a session covers its last calls, as number %i of ten', (lost) => {
  const [first] = records;
  const end: AnyRecord = {
    kind: 'session',
    phase: 'end',
    traceId: first!.traceId,
    spanId: hex(8),
    runId: first!.runId,
    processPath: first!.processPath,
    sessionId: first!.sessionId,
    scope: first!.scope,
    startMs: 1,
    endMs: 2,
    seq: 1000,
  };
  const short = encode([...records.slice(0, 10), end]);
  const recording = decode(short.filter((_, index) => index !== lost));
  expect(bodies(recording)).toEqual(expected(lost).slice(0, 9));
});

test('a request that a backend cut is restored, and so nothing is lost', () => {
  const cut = spans.map((span, index) =>
    index !== 20 ? span : { ...span, attributes: span.attributes.filter(({ key }) => key !== 'reenact.request.body') },
  );
  const recording = decode(cut);
  expect([bodies(recording), recording.gaps]).toEqual([expected(), []]);
});

test('damaged parity restores nothing, and says what is missing', () => {
  const broken = without(20).map((span) => ({
    ...span,
    attributes: span.attributes.map(({ key, value }) =>
      key === 'reenact.parity' ? { key, value: { arrayValue: { values: [{ stringValue: 'AAAA' }] } } } : { key, value },
    ),
  }));
  const recording = decode(broken);
  expect(bodies(recording)).toEqual(expected(...Array.from({ length: 60 }, (_, i) => 20 + i)));
  expect(recording.gaps.map((gap) => gap.message).join()).toContain(`builds on span ${spans[20]!.spanId}`);
});

test('a request of a megabyte is not doubled', () => {
  const messages = Array.from({ length: 40 }, (_, i) => 'x'.repeat(i === 8 ? 1_000_000 : 1000) + String(i));
  const grown = messages.map((_, i) =>
    exchange(JSON.stringify(messages.slice(0, i + 1)), { spanId: hex(8), seqStart: 10 * i, seqEnd: 10 * i + 9 }),
  );
  const bytes = encode(grown).reduce((sum, span) => sum + JSON.stringify(span).length, 0);
  expect(bytes).toBeLessThan(1_000_000 + 40 * 3500);
});
