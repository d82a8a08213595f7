import type { AttributeValue, HeaderList, Outcome, WireRequest, WireResponse } from '../schema/records';
import { cutText } from './bounded-value';
import { decodeContent } from './content-coding';
import { CONTENT_ATTRIBUTES } from './gen-ai-view';
import { asText, isObject, parseJson } from './json-fields';
import type { ParsedResponse, Provider, ProviderRequest, ProviderResponse } from './provider';
import { providers } from './registry';

/** What the bytes of an exchange say, read by the provider whose wire format they are. */
export interface Described {
  readonly provider: Provider;
  readonly request: ProviderRequest;
  readonly response?: ParsedResponse;
  /** The bounded `gen_ai.*` attributes. */
  readonly view: Record<string, AttributeValue>;
  /** `{operation} {model}`, as the conventions name an inference span. */
  readonly spanName: string;
}

export interface DescribeOptions {
  /** How the exchange ended; `ok` when left out. */
  readonly outcome?: Outcome;
  /** False: no messages, instructions or tools in the view. */
  readonly content?: boolean;
}

/** Reads an exchange; undefined when it is not a call of a known wire format. Never throws. */
export function describeExchange(
  request: WireRequest,
  response?: WireResponse,
  options: DescribeOptions | Outcome = {},
): Described | undefined {
  const { outcome = 'ok', content = true } = typeof options === 'string' ? { outcome: options } : options;
  try {
    const asked = readRequest(request);
    const provider = asked && providers.find((candidate) => candidate.matches(asked));
    if (!asked || !provider) return undefined;
    const answer = response && readResponse(response, outcome === 'ok' || outcome === 'error');
    const parsed = answer && provider.parseResponse(answer, asked);
    return {
      provider,
      request: asked,
      ...(parsed && { response: parsed }),
      view: viewOf(provider.view(asked, parsed), { outcome, content }),
      spanName: [provider.operation, cutText(asText(asked.body['model']) ?? '', 128)].join(' ').trim(),
    };
  } catch {
    // Whatever these bytes are, they are no call of ours to read; they are recorded as plain HTTP all the same.
    return undefined;
  }
}

/** The `gen_ai.*` content attributes are on unless the variable of the GenAI conventions switches them off. */
export function capturesContent(env: Readonly<Record<string, string | undefined>>): boolean {
  return !/^(?:false|no_content|event_only)$/i.test(
    env['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT']?.trim() ?? '',
  );
}

/** Decodes and parses a request; undefined when its body is not a JSON object. */
export function readRequest(request: WireRequest): ProviderRequest | undefined {
  if (request.body.length === 0 || !URL.canParse(request.url)) return undefined;
  const body = parseJson(decodeText(request.body, request.headers) ?? '');
  if (!isObject(body)) return undefined;
  return { method: request.method, url: new URL(request.url), headers: request.headers, body };
}

/** Decodes a response; undefined when its bytes are damaged or too many. */
export function readResponse(response: WireResponse, complete: boolean): ProviderResponse | undefined {
  const text = decodeText(Buffer.concat(response.chunks.map((chunk) => chunk.bytes)), response.headers);
  const contentType = response.headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? '';
  return text === undefined ? undefined : { status: response.status, contentType, text, complete };
}

function decodeText(bytes: Buffer, headers: HeaderList): string | undefined {
  const decoded = decodeContent(bytes, headers);
  return decoded && new TextDecoder().decode(decoded);
}

function viewOf(
  view: Record<string, AttributeValue>,
  { outcome, content }: Required<DescribeOptions>,
): Record<string, AttributeValue> {
  const kept = content
    ? view
    : Object.fromEntries(Object.entries(view).filter(([name]) => !CONTENT_ATTRIBUTES.has(name)));
  const failed = outcome !== 'ok' && outcome !== 'open' && kept['error.type'] === undefined;
  return failed ? { ...kept, 'error.type': outcome === 'error' ? '_OTHER' : outcome } : kept;
}
