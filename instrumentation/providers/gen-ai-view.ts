import type { AttributeValue } from '../schema/records';
import { cutText } from './bounded-value';
import { asArray, asNumber, asString, asText } from './json-fields';
import type { ParsedResponse, Provider, ProviderRequest } from './provider';

/** Attributes that hold what people and models wrote; they can be switched off. */
export const CONTENT_ATTRIBUTES: ReadonlySet<string> = new Set([
  'gen_ai.system_instructions',
  'gen_ai.input.messages',
  'gen_ai.output.messages',
  'gen_ai.tool.definitions',
]);

const MAX_TEXT = 256;

/**
 * Keeps of lists of candidates what may be an attribute; short texts are cut, the content attributes are bounded already.
 * Several lists, for to spread them into one costs more than all the rest.
 */
export function attributes(...lists: readonly Readonly<Record<string, unknown>>[]): Record<string, AttributeValue> {
  const kept: Record<string, AttributeValue> = {};
  for (const fields of lists) {
    // The names are ours, so none of them means anything to an object.
    for (const name in fields) {
      const value = attributeOf(name, fields[name]);
      if (value !== undefined) kept[name] = value;
    }
  }
  return kept;
}

function attributeOf(name: string, value: unknown): AttributeValue | undefined {
  if (typeof value === 'string') {
    if (value === '') return undefined;
    return CONTENT_ATTRIBUTES.has(name) ? value : cutText(value, MAX_TEXT);
  }
  if (typeof value === 'boolean') return value;
  if (!Array.isArray(value)) return asNumber(value);
  const texts = value.filter((item) => typeof item === 'string').slice(0, 16);
  return texts.length > 0 ? texts.map((text) => cutText(text, MAX_TEXT)) : undefined;
}

/** The attributes that every provider has in common, from fields that all three formats spell alike. */
export function commonAttributes(
  provider: Pick<Provider, 'operation' | 'providerName'>,
  request: ProviderRequest,
  response: ParsedResponse | undefined,
): Record<string, unknown> {
  const { body, url } = request;
  return {
    'gen_ai.operation.name': provider.operation,
    'gen_ai.provider.name': provider.providerName(request),
    'gen_ai.request.model': asText(body['model']),
    'gen_ai.request.stream': body['stream'] === true ? true : undefined,
    'gen_ai.request.temperature': asNumber(body['temperature']),
    'gen_ai.request.top_p': asNumber(body['top_p']),
    'gen_ai.request.top_k': asNumber(body['top_k']),
    'gen_ai.request.frequency_penalty': asNumber(body['frequency_penalty']),
    'gen_ai.request.presence_penalty': asNumber(body['presence_penalty']),
    'gen_ai.request.seed': asNumber(body['seed']),
    'gen_ai.response.id': asText(response?.body['id']),
    'gen_ai.response.model': asText(response?.body['model']),
    'server.address': url.hostname,
    'server.port': url.port !== '' ? Number(url.port) : url.protocol === 'http:' ? 80 : 443,
    'error.type': response?.error?.type,
  };
}

/** Stop sequences as a list, sent as one text or several. */
export function stopSequences(value: unknown): string[] | undefined {
  const one = asString(value);
  return one !== undefined ? [one] : (asArray(value).filter((item) => typeof item === 'string') as string[]);
}

/** `gen_ai.output.type` of a format field such as `{ type: "json_schema", … }`. */
export function outputType(format: unknown): 'json' | 'text' | undefined {
  const type = asText(format);
  if (type === undefined) return undefined;
  return type.startsWith('json') ? 'json' : type === 'text' ? 'text' : undefined;
}
