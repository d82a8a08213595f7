import { wholeBody } from '../schema/whole-body';
import type { AttributeValue, Outcome, WireRequest, WireResponse } from '../schema/records';
import { cutText } from './bounded-value';
import { decodeContent } from './content-coding';
import { CONTENT_ATTRIBUTES } from './gen-ai-view';
import type { GrowingBodies } from './growing-bodies';
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
  /** Keeps the bodies of a conversation between its calls; `request.body` then lasts until the next one. */
  readonly bodies?: { readonly kept: GrowingBodies; readonly key: string };
}

/** Reads an exchange; undefined when it is not a call of a known wire format. Never throws. */
export function describeExchange(
  request: WireRequest,
  response?: WireResponse,
  options: DescribeOptions | Outcome = {},
): Described | undefined {
  const { outcome = 'ok', content = true, bodies } = typeof options === 'string' ? { outcome: options } : options;
  try {
    const asked = readRequest(request, bodies);
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
export function readRequest(request: WireRequest, bodies?: DescribeOptions['bodies']): ProviderRequest | undefined {
  if (request.body.length === 0) return undefined;
  const decoded = decodeContent(request.body, request.headers);
  if (decoded === undefined) return undefined;
  const body = bodies === undefined ? parseJson(textOf(decoded)) : bodies.kept.parse(bodies.key, decoded);
  const url = urlOf(request.url);
  return url && isObject(body) ? { method: request.method, url, headers: request.headers, body } : undefined;
}

/** Decodes a response; undefined when its bytes are damaged or too many. */
export function readResponse(response: WireResponse, complete: boolean): ProviderResponse | undefined {
  const decoded = decodeContent(wholeBody(response.chunks), response.headers);
  const text = decoded && textOf(decoded);
  const contentType = response.headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? '';
  return text === undefined ? undefined : { status: response.status, contentType, text, complete };
}

function urlOf(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    // An address that nobody can call is no call of a known format.
    return undefined;
  }
}

/** Without a byte order mark, as decoders of the web leave it out. */
function textOf(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}

function viewOf(
  view: Record<string, AttributeValue>,
  { outcome, content }: Required<Pick<DescribeOptions, 'outcome' | 'content'>>,
): Record<string, AttributeValue> {
  const kept = content
    ? view
    : Object.fromEntries(Object.entries(view).filter(([name]) => !CONTENT_ATTRIBUTES.has(name)));
  const failed = outcome !== 'ok' && outcome !== 'open' && kept['error.type'] === undefined;
  return failed ? { ...kept, 'error.type': outcome === 'error' ? '_OTHER' : outcome } : kept;
}
