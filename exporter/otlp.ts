import type { AttributeValue } from '../instrumentation/schema/records';

/** The part of OTLP/JSON that recordings use. */
export interface OtlpValue {
  stringValue?: string;
  intValue?: string | number;
  doubleValue?: number | string;
  boolValue?: boolean;
  bytesValue?: string;
  arrayValue?: { values?: OtlpValue[] };
  kvlistValue?: { values?: OtlpAttribute[] };
}

export interface OtlpAttribute {
  key: string;
  value: OtlpValue;
}

export interface OtlpSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind?: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: OtlpAttribute[];
  status?: { code?: number; message?: string };
  /** Sampled; the remote bits are left unset. */
  flags?: number;
}

export interface OtlpResource {
  attributes: OtlpAttribute[];
}

export interface OtlpRequest {
  resourceSpans: {
    resource: OtlpResource;
    scopeSpans: { scope: { name: string; version?: string }; spans: OtlpSpan[] }[];
  }[];
}

/** One span with the resource that it came with. */
export interface ResourceSpan {
  readonly resource: OtlpResource;
  readonly span: OtlpSpan;
}

export const SPAN_KIND = { internal: 1, server: 2, client: 3 } as const;
export const STATUS = { unset: 0, ok: 1, error: 2 } as const;
export const SCOPE = { name: 'reenact' } as const;

/** OTLP form of an attribute value of a record. */
export function toOtlpValue(value: AttributeValue): OtlpValue {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number') return numberValue(value);
  return { arrayValue: { values: value.map((item) => ({ stringValue: item })) } };
}

function numberValue(value: number): OtlpValue {
  if (Number.isSafeInteger(value) && !Object.is(value, -0)) return { intValue: String(value) };
  if (Number.isFinite(value) && !Object.is(value, -0)) return { doubleValue: value };
  return { doubleValue: Object.is(value, -0) ? '-0' : String(value) };
}

/** The plain value of an OTLP value; `undefined` for what records never hold. */
export function fromOtlpValue(value: OtlpValue | null | undefined): AttributeValue | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value.stringValue === 'string') return value.stringValue;
  if (typeof value.boolValue === 'boolean') return value.boolValue;
  if (value.intValue !== undefined) return Number(value.intValue);
  if (value.doubleValue !== undefined) return Number(value.doubleValue);
  if (value.arrayValue === undefined) return undefined;
  const items = value.arrayValue?.values ?? [];
  return Array.isArray(items) ? items.map((item) => String(fromOtlpValue(item) ?? '')) : undefined;
}

/** Epoch milliseconds as the decimal nanoseconds of OTLP. */
export function toNanos(ms: number): string {
  if (!Number.isFinite(ms) || ms < 0) return '0';
  const whole = Math.floor(ms);
  return `${whole}${String(Math.floor((ms - whole) * 1e6)).padStart(6, '0')}`.replace(/^0+(?=\d)/, '');
}

/** An id as lower-case hex, from hex in any case or base64; short hex ids have lost their leading zeros. */
export function normaliseId(id: unknown, bytes: number): string {
  if (typeof id !== 'string') return '';
  if (/^[0-9a-fA-F]*$/.test(id) && id.length <= bytes * 2)
    return id === '' ? '' : id.toLowerCase().padStart(bytes * 2, '0');
  const decoded = Buffer.from(id, 'base64');
  return decoded.length === bytes ? decoded.toString('hex') : id.toLowerCase();
}

/** A span with ids in one form, and every field that OTLP allows to be absent. */
export function normaliseSpan(span: OtlpSpan): OtlpSpan {
  const parent = normaliseId(span.parentSpanId, 8);
  return {
    ...span,
    traceId: normaliseId(span.traceId, 16),
    spanId: normaliseId(span.spanId, 8),
    name: typeof span.name === 'string' ? span.name : '',
    attributes: Array.isArray(span.attributes) ? span.attributes.filter(isAttribute) : [],
    ...(parent === '' || parent === '0'.repeat(16) ? { parentSpanId: undefined } : { parentSpanId: parent }),
  } as OtlpSpan;
}

const isAttribute = (item: unknown): item is OtlpAttribute =>
  typeof item === 'object' && item !== null && typeof (item as OtlpAttribute).key === 'string';
