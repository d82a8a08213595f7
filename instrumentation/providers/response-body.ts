import { asText, isObject, objectsOf, parseJson } from './json-fields';
import type { JsonObject } from './json-fields';
import type { ParsedResponse, ProviderResponse } from './provider';

type ResponseError = NonNullable<ParsedResponse['error']>;

/** Longest text of an error page that is kept in a readable body. */
const MAX_RAW_TEXT = 64 * 1024;

/**
 * The error in a response body, in the shapes met on the wire: `{ error: { type, code, message } }` (OpenAI, Groq,
 * OpenRouter, Anthropic), `{ error: "text" }`, `{ message, code }` (Azure gateways, Mistral), `{ detail }`.
 */
export function errorOf(body: JsonObject, status: number): ResponseError | undefined {
  const inner = body['error'];
  if (isObject(inner)) return describeError(inner, status);
  if (asText(inner) !== undefined) return { type: statusType(status), message: String(inner) };
  if (status < 400 && body['object'] !== 'error') return undefined;
  return describeError(body, status);
}

/** An error object as type and message. */
export function describeError(error: JsonObject, status = 0): ResponseError {
  const code = error['code'];
  const type = asText(error['type']) ?? asText(code) ?? (typeof code === 'number' ? String(code) : undefined);
  const detail = asText(error['message']) ?? asText(error['detail']) ?? detailText(error['detail']);
  return {
    type: type !== undefined && type !== 'error' ? type : statusType(status),
    message: detail ?? (status >= 400 ? `status ${status}` : 'unknown error'),
  };
}

function detailText(detail: unknown): string | undefined {
  const texts = objectsOf(detail).flatMap((item) => asText(item['msg']) ?? []);
  return texts.length > 0 ? texts.join('; ') : undefined;
}

/** The low-cardinality name that the conventions ask for when there is no better one. */
function statusType(status: number): string {
  return status >= 400 ? String(status) : '_OTHER';
}

/**
 * Reads a body that is no stream. Text that is not a JSON object (an HTML page of a proxy, a body that was cut) is kept
 * under `raw_text`, so that a person can read it.
 */
export function parseJsonResponse(response: ProviderResponse): ParsedResponse {
  const text = response.text.replace(/^\uFEFF/, '');
  const parsed = parseJson(text);
  if (isObject(parsed)) {
    const error = errorOf(parsed, response.status);
    return { body: parsed, finished: true, ...(error && { error }) };
  }
  const body = text.trim() === '' ? {} : { raw_text: text.slice(0, MAX_RAW_TEXT) };
  if (response.status < 400) return { body, finished: false };
  const message = text.trim().slice(0, 200) || `status ${response.status}`;
  return { body, finished: response.complete, error: { type: String(response.status), message } };
}
