import type { OtlpAttribute, OtlpValue, ResourceSpan } from '../../exporter/otlp';
import { isObject, type JsonObject } from '../log/checked';

/** Spans of Jaeger's own JSON (`/api/traces/{id}`, and what its page downloads) in OTLP form. */
export function readJaegerJson(document: unknown): ResourceSpan[] {
  const traces = isObject(document) && Array.isArray(document['data']) ? (document['data'] as unknown[]) : [];
  return traces.filter(isObject).flatMap((trace) => {
    const processes = isObject(trace['processes']) ? trace['processes'] : {};
    return objects(trace['spans']).map((span) => readSpan(span, processes));
  });
}

const objects = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);

function readSpan(span: JsonObject, processes: JsonObject): ResourceSpan {
  const process = Object.hasOwn(processes, String(span['processID']))
    ? processes[String(span['processID'])]
    : undefined;
  const tags = isObject(process) ? objects(process['tags']) : [];
  const service = isObject(process) ? process['serviceName'] : undefined;
  const parent = objects(span['references']).find((reference) => reference['refType'] === 'CHILD_OF');
  // Jaeger keeps microseconds.
  const start = BigInt(Math.round(Number(span['startTime']) || 0)) * 1000n;
  const end = start + BigInt(Math.round(Number(span['duration']) || 0)) * 1000n;
  return {
    resource: {
      attributes: [
        ...(typeof service === 'string' ? [{ key: 'service.name', value: { stringValue: service } }] : []),
        ...tags.map(readTag),
      ],
    },
    span: {
      traceId: String(span['traceID'] ?? '').padStart(32, '0'),
      spanId: String(span['spanID'] ?? '').padStart(16, '0'),
      ...(parent !== undefined && { parentSpanId: String(parent['spanID'] ?? '').padStart(16, '0') }),
      name: String(span['operationName'] ?? ''),
      startTimeUnixNano: String(start),
      endTimeUnixNano: String(end),
      attributes: objects(span['tags']).map(readTag),
    },
  };
}

function readTag(tag: JsonObject): OtlpAttribute {
  return { key: String(tag['key'] ?? ''), value: readValue(tag['type'], tag['value']) };
}

/** Arrays come as JSON text; the decoder of spans knows that form. */
function readValue(type: unknown, value: unknown): OtlpValue {
  if (type === 'bool') return { boolValue: value === true || value === 'true' };
  if (type === 'int64') return { intValue: String(value) };
  if (type === 'float64') return { doubleValue: Number(value) };
  return { stringValue: typeof value === 'string' ? value : JSON.stringify(value) };
}
