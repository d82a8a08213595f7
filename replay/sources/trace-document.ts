import type { ResourceSpan } from '../../exporter/otlp';
import { readOtlpJson } from '../../exporter/otlp-json';
import { loadOtlpProto } from '../../exporter/otlp-proto';
import { isObject } from '../log/checked';
import { readClickHouseRows } from './clickhouse';
import { readJaegerJson } from './jaeger-json';

/**
 * Spans of one JSON document of a trace file, in any of the forms that tools write: OTLP in all its wrappings, what
 * Jaeger's page downloads, a row of ClickHouse's `otel_traces`, or a Kafka message as topic dumps print it.
 */
export function readTraceDocument(document: unknown): ResourceSpan[] {
  if (!isObject(document)) return readOtlpJson(document);
  const message = document['payload'] ?? document['value'];
  if (message !== undefined && ('topic' in document || 'partition' in document || 'offset' in document))
    return readKafkaValue(message);
  if ('SpanAttributes' in document) return readClickHouseRows(document);
  const [first] = Array.isArray(document['data']) ? (document['data'] as unknown[]) : [];
  if (isObject(first) && 'SpanAttributes' in first) return readClickHouseRows(document);
  if (isObject(first) && 'processes' in first) return readJaegerJson(document);
  return readOtlpJson(document);
}

/** The value of a Kafka message: JSON, JSON as text, or protobuf in base64. */
function readKafkaValue(value: unknown): ResourceSpan[] {
  if (typeof value !== 'string') return readOtlpJson(value);
  if (value.trimStart().startsWith('{')) return readOtlpJson(parse(value));
  return /^[A-Za-z0-9+/]+=*$/.test(value) ? loadOtlpProto().decodeRequest(Buffer.from(value, 'base64')) : [];
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A cut message: the spans in it are found missing by their ordinals.
    return undefined;
  }
}
