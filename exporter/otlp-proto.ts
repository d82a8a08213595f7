import type { Root, Type } from 'protobufjs';
import { ReenactError } from '../instrumentation/schema/errors';
import type { OtlpAttribute, OtlpRequest, OtlpSpan, OtlpValue, ResourceSpan } from './otlp';
import { readOtlpJson } from './otlp-json';

type Field = { type: string; id: number; rule?: 'repeated' };
const one = (type: string, id: number): Field => ({ type, id });
const many = (type: string, id: number): Field => ({ type, id, rule: 'repeated' });

/** The messages of opentelemetry-proto that traces use; numbers are those of the published protocol. */
const DESCRIPTOR = {
  nested: {
    AnyValue: {
      fields: {
        stringValue: one('string', 1),
        boolValue: one('bool', 2),
        intValue: one('int64', 3),
        doubleValue: one('double', 4),
        arrayValue: one('ArrayValue', 5),
        kvlistValue: one('KeyValueList', 6),
        bytesValue: one('bytes', 7),
      },
      oneofs: {
        value: {
          oneof: ['stringValue', 'boolValue', 'intValue', 'doubleValue', 'arrayValue', 'kvlistValue', 'bytesValue'],
        },
      },
    },
    ArrayValue: { fields: { values: many('AnyValue', 1) } },
    KeyValueList: { fields: { values: many('KeyValue', 1) } },
    KeyValue: { fields: { key: one('string', 1), value: one('AnyValue', 2) } },
    Resource: { fields: { attributes: many('KeyValue', 1), droppedAttributesCount: one('uint32', 2) } },
    Scope: {
      fields: {
        name: one('string', 1),
        version: one('string', 2),
        attributes: many('KeyValue', 3),
        droppedAttributesCount: one('uint32', 4),
      },
    },
    Status: { fields: { message: one('string', 2), code: one('int32', 3) } },
    Event: {
      fields: {
        timeUnixNano: one('fixed64', 1),
        name: one('string', 2),
        attributes: many('KeyValue', 3),
        droppedAttributesCount: one('uint32', 4),
      },
    },
    Link: {
      fields: {
        traceId: one('bytes', 1),
        spanId: one('bytes', 2),
        traceState: one('string', 3),
        attributes: many('KeyValue', 4),
        droppedAttributesCount: one('uint32', 5),
        flags: one('fixed32', 6),
      },
    },
    Span: {
      fields: {
        traceId: one('bytes', 1),
        spanId: one('bytes', 2),
        traceState: one('string', 3),
        parentSpanId: one('bytes', 4),
        name: one('string', 5),
        kind: one('int32', 6),
        startTimeUnixNano: one('fixed64', 7),
        endTimeUnixNano: one('fixed64', 8),
        attributes: many('KeyValue', 9),
        droppedAttributesCount: one('uint32', 10),
        events: many('Event', 11),
        droppedEventsCount: one('uint32', 12),
        links: many('Link', 13),
        droppedLinksCount: one('uint32', 14),
        status: one('Status', 15),
        flags: one('fixed32', 16),
      },
    },
    ScopeSpans: { fields: { scope: one('Scope', 1), spans: many('Span', 2), schemaUrl: one('string', 3) } },
    ResourceSpans: {
      fields: { resource: one('Resource', 1), scopeSpans: many('ScopeSpans', 2), schemaUrl: one('string', 3) },
    },
    TraceRequest: { fields: { resourceSpans: many('ResourceSpans', 1) } },
    // Tempo's answer to a question for one trace.
    TempoTrace: { fields: { trace: one('TraceRequest', 1), status: one('int32', 3), message: one('string', 4) } },
    PartialSuccess: { fields: { rejectedSpans: one('int64', 1), errorMessage: one('string', 2) } },
    TraceResponse: { fields: { partialSuccess: one('PartialSuccess', 1) } },
  },
};

/** Encodes and decodes OTLP protobuf. */
export interface OtlpProto {
  encodeRequest(request: OtlpRequest): Uint8Array;
  /** @throws ReenactError LOG_INVALID */
  decodeRequest(bytes: Uint8Array): ResourceSpan[];
  /** Tempo's `TraceByIDResponse`. @throws ReenactError LOG_INVALID */
  decodeTempoTrace(bytes: Uint8Array): { spans: ResourceSpan[]; isPartial: boolean; message: string };
  decodeResponse(bytes: Uint8Array): { rejectedSpans: number; errorMessage: string };
  encodeResponse(partial?: { rejectedSpans: number; errorMessage: string }): Uint8Array;
}

/** Loads protobufjs and builds the codec: about 20 ms, so only who sends or reads protobuf calls it. */
export function loadOtlpProto(): OtlpProto {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- deliberately late, see above
  const protobuf = require('protobufjs/light') as { Root: typeof Root };
  const root = protobuf.Root.fromJSON(DESCRIPTOR);
  const request = root.lookupType('TraceRequest');
  const response = root.lookupType('TraceResponse');
  const tempo = root.lookupType('TempoTrace');
  return {
    encodeRequest: (value) => request.encode(toMessage(value) as never).finish(),
    decodeRequest: (bytes) => readOtlpJson(fromMessage(request, bytes)),
    decodeTempoTrace: (bytes) => {
      const { trace, status, message } = fromMessage(tempo, bytes);
      return { spans: readOtlpJson(trace), isPartial: status === 1, message: String(message ?? '') };
    },
    decodeResponse: (bytes) => partialOf(fromMessage(response, bytes)),
    encodeResponse: (partial) => response.encode(partial ? { partialSuccess: partial } : {}).finish(),
  };
}

function fromMessage(type: Type, bytes: Uint8Array): Record<string, unknown> {
  try {
    return type.toObject(type.decode(bytes), { longs: String, bytes: String });
  } catch (cause) {
    throw new ReenactError('LOG_INVALID', `not OTLP protobuf: ${(cause as Error).message}`, { cause });
  }
}

function partialOf(message: Record<string, unknown>): { rejectedSpans: number; errorMessage: string } {
  const partial = (message['partialSuccess'] ?? {}) as Record<string, unknown>;
  return { rejectedSpans: Number(partial['rejectedSpans'] ?? 0), errorMessage: String(partial['errorMessage'] ?? '') };
}

function toMessage(request: OtlpRequest): object {
  return {
    resourceSpans: request.resourceSpans.map(({ resource, scopeSpans }) => ({
      resource: { attributes: resource.attributes.map(attributeMessage) },
      scopeSpans: scopeSpans.map(({ scope, spans }) => ({ scope, spans: spans.map(spanMessage) })),
    })),
  };
}

function spanMessage(span: OtlpSpan): object {
  return {
    ...span,
    traceId: Buffer.from(span.traceId, 'hex'),
    spanId: Buffer.from(span.spanId, 'hex'),
    ...(span.parentSpanId !== undefined && { parentSpanId: Buffer.from(span.parentSpanId, 'hex') }),
    startTimeUnixNano: long(span.startTimeUnixNano),
    endTimeUnixNano: long(span.endTimeUnixNano),
    attributes: span.attributes.map(attributeMessage),
  };
}

const attributeMessage = ({ key, value }: OtlpAttribute): object => ({ key, value: valueMessage(value) });

function valueMessage(value: OtlpValue): object {
  if (value.stringValue !== undefined) return value;
  if (value.arrayValue !== undefined)
    return { arrayValue: { values: value.arrayValue.values?.map(valueMessage) ?? [] } };
  if (value.intValue !== undefined) return { intValue: long(String(value.intValue)) };
  if (value.doubleValue !== undefined) return { doubleValue: Number(value.doubleValue) };
  if (value.kvlistValue !== undefined)
    return { kvlistValue: { values: value.kvlistValue.values?.map(attributeMessage) ?? [] } };
  return value.bytesValue === undefined ? value : { bytesValue: Buffer.from(value.bytesValue, 'base64') };
}

/** Two 32-bit halves: the form protobufjs takes without a library for 64-bit numbers. */
function long(decimal: string): { low: number; high: number; unsigned: boolean } {
  const value = BigInt.asUintN(64, /^-?\d+$/.test(decimal) ? BigInt(decimal) : 0n);
  return { low: Number(value & 0xffffffffn) | 0, high: Number(value >> 32n) | 0, unsigned: false };
}
