import { ReenactError } from '../instrumentation/schema/errors';
import { normaliseSpan, type OtlpResource, type OtlpSpan, type ResourceSpan } from './otlp';

type Loose = Record<string, unknown>;

/**
 * Reads one OTLP/JSON document: a request or trace, bare or as Jaeger (`result`), Tempo (`trace`, `batches`) and
 * streams (`result` per line) wrap it. Ids may be hex or base64, 64-bit numbers numbers or strings, fields absent.
 */
export function readOtlpJson(document: unknown): ResourceSpan[] {
  const found: ResourceSpan[] = [];
  for (const entry of rootsOf(document)) {
    const resource = resourceOf(entry);
    for (const scope of listOf(entry['scopeSpans'] ?? entry['instrumentationLibrarySpans'])) {
      for (const span of listOf(scope['spans'])) {
        found.push({ resource, span: normaliseSpan(namedEnums(span) as unknown as OtlpSpan) });
      }
    }
  }
  return found;
}

/** Reads OTLP JSON text. @throws ReenactError LOG_INVALID */
export function parseOtlpJson(text: string): ResourceSpan[] {
  try {
    return readOtlpJson(JSON.parse(text) as unknown);
  } catch (cause) {
    throw new ReenactError('LOG_INVALID', `not OTLP JSON: ${(cause as Error).message}`, { cause });
  }
}

function rootsOf(document: unknown): Loose[] {
  if (Array.isArray(document)) return document.flatMap(rootsOf);
  if (!isObject(document)) return [];
  for (const wrapper of ['result', 'trace', 'data'] as const) {
    const inner = document[wrapper];
    if (isObject(inner) || Array.isArray(inner)) return rootsOf(inner);
  }
  return listOf(document['resourceSpans'] ?? document['batches'] ?? document['resource_spans']);
}

const isObject = (value: unknown): value is Loose =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const listOf = (value: unknown): Loose[] => (Array.isArray(value) ? value.filter(isObject) : []);

function resourceOf(entry: Loose): OtlpResource {
  const resource = entry['resource'];
  const attributes = isObject(resource) ? listOf(resource['attributes']) : [];
  return { attributes: attributes as unknown as OtlpResource['attributes'] };
}

const KINDS = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'];
const STATUSES = ['UNSET', 'OK', 'ERROR'];

/** Tempo writes enums by name. */
function namedEnums(span: Loose): Loose {
  const kind = enumOf(span['kind'], 'SPAN_KIND_', KINDS);
  const status = isObject(span['status'])
    ? { ...span['status'], code: enumOf(span['status']['code'], 'STATUS_CODE_', STATUSES) }
    : span['status'];
  return { ...span, kind, status };
}

function enumOf(value: unknown, prefix: string, names: readonly string[]): unknown {
  return typeof value === 'string' ? Math.max(0, names.indexOf(value.replace(prefix, ''))) : value;
}
