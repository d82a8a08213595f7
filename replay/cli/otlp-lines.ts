import { SCOPE } from '../../exporter/otlp';
import { createEncoderState, encodeRecord } from '../../exporter/span-encoder';
import type { AnyRecord, Recording } from '../../instrumentation/schema/records';

/** A recording as OTLP JSON lines, one ExportTraceServiceRequest each, as the local store keeps them. */
export function* otlpLines(recording: Recording, serviceName = 'reenact'): Generator<string> {
  const paths = new Set([...recording.processes, ...recording.calls].map((record) => record.processPath));
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: serviceName } }] };
  for (const path of paths) {
    const state = createEncoderState();
    for (const record of recordsOf(recording, path)) {
      const span = encodeRecord(record, state);
      yield JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope: SCOPE, spans: [span] }] }] });
    }
  }
}

/** The records of one process in the order in which they were written. */
function recordsOf(recording: Recording, path: string): AnyRecord[] {
  const own = <T extends { processPath: string }>(records: readonly T[]): T[] =>
    records.filter((record) => record.processPath === path);
  const sessions = own(recording.sessions);
  const calls = own(recording.calls);
  const ambient = own(recording.ambient).flatMap((piece) => piece.lines);
  // All lines ride on one span: each says its own scope, and only their order counts.
  const carried = calls.map((call, index) => (index === 0 && ambient.length > 0 ? { ...call, ambient } : call));
  return [
    ...own(recording.processes),
    ...sessions.filter((session) => session.phase === 'start'),
    ...carried,
    ...sessions.filter((session) => session.phase === 'end'),
    ...own(recording.exits),
  ];
}
