import { asProviderRequest } from '../../instrumentation/llm-client';
import { canonicalJson } from '../../instrumentation/schema/canonical-json';
import { decodeTyped, encodeTyped, toPlainJson } from '../../instrumentation/schema/typed-json';
import { assembleItems } from '../../instrumentation/stream-tap';
import { describeThrown } from '../../instrumentation/thrown-value';
import { parseSse } from '../../instrumentation/providers/sse';
import { providerOf } from './recorded-turns';
import type { RecordedEntry } from './recorded-turns';

/** What a call gets. `never`: it was still unanswered when the recording ended. */
export type Answer =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'error'; readonly error: unknown }
  | { readonly kind: 'stream'; readonly items: readonly unknown[]; readonly end: StreamEnd }
  | { readonly kind: 'never' };

/** How a recorded stream ended; `givenUp`: by the program, which then read no further. */
export type StreamEnd = { readonly by: 'end' | 'givenUp' } | { readonly by: 'error'; readonly error: unknown };

/** Makes the error that an SDK would make of an error answer, where there is one who can. */
export type ErrorMaker = (status: number, body: unknown) => unknown;

/** What the log says that this call got. Every call makes objects of its own. */
export function recordedAnswer(turn: RecordedEntry, wantsStream: boolean, makeError?: ErrorMaker): Answer {
  return turn.type !== 'llm_call' ? toolAnswer(turn) : messageAnswer(turn, wantsStream, makeError);
}

function toolAnswer(turn: RecordedEntry): Answer {
  const { response } = turn;
  if (Object.hasOwn(response, 'error')) return { kind: 'error', error: rebuiltError(turn) };
  if (Object.hasOwn(response, 'result')) return { kind: 'value', value: toolResult(turn) };
  if (turn.outcome === 'open') return { kind: 'never' };
  return { kind: 'value', value: copy(response) };
}

/** The typed result, unless somebody has changed the readable one since. */
function toolResult(turn: RecordedEntry): unknown {
  const { typedResponse, response } = turn;
  const plain = response['result'];
  if (typedResponse !== undefined && canonicalJson(toPlainJson(typedResponse)) === canonicalJson(plain))
    return decodeTyped(typedResponse);
  return copy(plain);
}

function messageAnswer(turn: RecordedEntry, wantsStream: boolean, makeError?: ErrorMaker): Answer {
  const failed = hasFailed(turn);
  if (turn.items !== undefined && wantsStream && turn.outcome !== 'ok') {
    const items = copy(turn.items) as unknown[];
    return { kind: 'stream', items, end: failed ? { by: 'error', error: rebuiltError(turn) } : endOf(turn) };
  }
  if (turn.outcome === 'open' && Object.keys(turn.response).length === 0) return { kind: 'never' };
  if (failed) return { kind: 'error', error: sdkError(turn, makeError) ?? rebuiltError(turn) };
  return wantsStream
    ? { kind: 'stream', items: recordedItems(turn), end: { by: 'end' } }
    : { kind: 'value', value: copy(turn.response) };
}

function endOf(turn: RecordedEntry): StreamEnd {
  return { by: turn.outcome === 'cut' ? 'end' : 'givenUp' };
}

function hasFailed(turn: RecordedEntry): boolean {
  if (turn.outcome === 'error' || turn.error !== undefined || (turn.status ?? 0) >= 400) return true;
  if (turn.items !== undefined) return false;
  if (turn.outcome === 'aborted') return true;
  // A log written by hand tells of an error by its body alone.
  const fields = Object.keys(turn.response);
  return fields.includes('error') && fields.every((field) => /^(error|type|request_id)$/.test(field));
}

/** The pieces as they came, unless somebody has changed the readable message since; then pieces made from that. */
function recordedItems(turn: RecordedEntry): unknown[] {
  if (turn.items !== undefined) {
    const provider = providerOf(turn);
    const texts = turn.items.map((item) => JSON.stringify(item));
    const { body } = assembleItems(texts, provider, asProviderRequest(provider, turn.request));
    if (canonicalJson(body) === canonicalJson(turn.response)) return copy(turn.items) as unknown[];
  }
  return itemsOf(turn, turn.response);
}

/** The events by which the provider of a turn would stream a body. */
export function itemsOf(turn: RecordedEntry, body: Readonly<Record<string, unknown>>): unknown[] {
  const provider = providerOf(turn);
  const request = asProviderRequest(provider, { ...turn.request, stream: true });
  const text = Buffer.concat(provider.encodeResponse(body, request).pieces).toString('utf8');
  return parseSse(text).flatMap(({ data }) => (data === '[DONE]' ? [] : [JSON.parse(data) as unknown]));
}

function sdkError(turn: RecordedEntry, makeError: ErrorMaker | undefined): unknown {
  return turn.status === undefined ? undefined : makeError?.(turn.status, copy(turn.response));
}

/** The error that was thrown: with its class and fields where they were kept, else by name, message and code. */
export function rebuiltError(turn: RecordedEntry): unknown {
  const readable = readableError(turn);
  if (turn.typedResponse !== undefined) {
    const value = decodeTyped(turn.typedResponse);
    const { name, message } = describeThrown(value);
    if (name === readable.name && message === readable.message) return value;
  }
  return makeError(readable, turn);
}

interface ReadableError {
  readonly name: string;
  readonly message: string;
  readonly code?: unknown;
}

function readableError(turn: RecordedEntry): ReadableError {
  const own = turn.response['error'];
  // The response is what a person would edit; `error` of an LLM turn tells how the client put it.
  const source = turn.type !== 'llm_call' ? own : (turn.error ?? own);
  if (typeof source === 'string') return { name: 'Error', message: source };
  const { name, message, code, type } = (typeof source === 'object' && source !== null ? source : {}) as Record<
    string,
    unknown
  >;
  return {
    name: typeof name === 'string' ? name : 'Error',
    message: typeof message === 'string' ? message : typeof type === 'string' ? type : 'the recorded call failed',
    ...(code !== undefined && { code }),
  };
}

function makeError(readable: ReadableError, turn: RecordedEntry): Error {
  const error = new Error(readable.message);
  const fields: [string, unknown][] = [];
  if (readable.name !== 'Error') fields.push(['name', readable.name]);
  if (readable.code !== undefined) fields.push(['code', readable.code]);
  if (turn.type === 'llm_call' && turn.status !== undefined)
    fields.push(['status', turn.status], ['error', copy(turn.response['error'] ?? turn.response)]);
  for (const [field, value] of fields)
    Object.defineProperty(error, field, { value, configurable: true, writable: true, enumerable: field !== 'name' });
  return error;
}

/** A copy that the program may change; what cannot be copied is passed as it is. */
export function copy(value: unknown): unknown {
  const { json, lost } = encodeTyped(value);
  return lost.length > 0 ? value : decodeTyped(json);
}
