import { decodeSpans } from '../../exporter/span-decoder';
import { createEncoderState, encodeRecord } from '../../exporter/span-encoder';
import type { OtlpSpan } from '../../exporter/otlp';
import { loadOtlpProto } from '../../exporter/otlp-proto';
import { parseOtlpJson } from '../../exporter/otlp-json';
import type { AnyRecord, Recording } from '../../instrumentation/schema/records';
import { samples } from './record-samples';

const resource = { attributes: [] };
const encodeAll = (records: AnyRecord[], inline = false): OtlpSpan[] => {
  const state = createEncoderState({ inline });
  return records.map((record) => encodeRecord(record, state));
};
const decode = (spans: OtlpSpan[]): Recording => decodeSpans(spans.map((span) => ({ resource, span })));
const requestOf = (spans: OtlpSpan[]) => ({
  resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'reenact' }, spans }] }],
});

function expectEqual(recording: Recording, records: AnyRecord[]): void {
  const found = [...recording.processes, ...recording.exits, ...recording.sessions, ...recording.calls];
  const byId = (a: AnyRecord, b: AnyRecord) =>
    JSON.stringify([a.kind, a.spanId, 'phase' in a && a.phase]) <
    JSON.stringify([b.kind, b.spanId, 'phase' in b && b.phase])
      ? -1
      : 1;
  expect(recording.gaps).toEqual([]);
  expect(found.sort(byId)).toEqual([...records].sort(byId));
}

test.each([false, true])('every kind of record comes back equal (inline %p)', (inline) => {
  const records = samples();
  expectEqual(decode(encodeAll(records, inline)), records);
});

test('every record comes back equal through protobuf and through JSON text', () => {
  const records = samples();
  const proto = loadOtlpProto();
  const request = requestOf(encodeAll(records));
  expectEqual(decodeSpans(proto.decodeRequest(proto.encodeRequest(request))), records);
  expectEqual(decodeSpans(parseOtlpJson(JSON.stringify(request))), records);
});
