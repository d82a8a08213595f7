import { readRequest, readResponse } from '../../instrumentation/providers/describe';
import type { ParsedResponse, Provider, ProviderRequest } from '../../instrumentation/providers/provider';
import { providers } from '../../instrumentation/providers/registry';
import type { ExecutionTurn } from '../../instrumentation/schema/execution-log';
import type { ExchangeRecord, RecordedError, ToolRecord } from '../../instrumentation/schema/records';
import { decodeTyped, toPlainJson } from '../../instrumentation/schema/typed-json';
import type { Attempts } from './attempts';
import { isObject, isShallow, parseJson, type JsonObject } from './checked';
import { historyField, MessageHistory } from './message-history';

/** A turn with what the assembly of the log still needs of it. */
export interface DraftTurn {
  readonly turn: Omit<ExecutionTurn, 'turnId'>;
  readonly processPath: string;
  readonly scope: string;
  readonly agentId: string | undefined;
  readonly seqStart: number;
  readonly startMs: number;
  readonly endMs: number;
  /** LLM turns whose wire format is known. */
  readonly llm?: {
    readonly provider: Provider;
    readonly request: ProviderRequest;
    /** Messages at the beginning of the request that an earlier turn had already sent. */
    readonly shared: number;
  };
  readonly call: Attempts | ToolRecord;
}

const iso = (ms: number): string => new Date(Math.min(Math.max(ms, 0), 8.64e15)).toISOString();

/** Microseconds are what backends keep, so that a log is the same from each of them. */
const duration = (startMs: number, endMs: number): number => Math.max(0, Math.round((endMs - startMs) * 1000) / 1000);

export { iso, duration };

/** The error as a turn shows it. */
export function plainError(error: RecordedError): { name: string; message: string; code?: string } {
  return { name: error.name, message: error.message, ...(error.code !== undefined && { code: error.code }) };
}

/** The turn of one logical LLM call, read from the bytes of its last attempt. */
export function llmTurn(attempts: Attempts, history: MessageHistory, number: number): DraftTurn {
  const first = attempts[0];
  const last = attempts[attempts.length - 1] ?? first;
  const described = readExchange(last);
  const body = described?.request.body ?? parsedBody(last);
  const field = historyField(body);
  const interned = field === undefined ? undefined : history.intern(number, body[field] as unknown[]);
  const request = field === undefined || interned === undefined ? { ...body } : { ...body, [field]: interned.items };
  const status = last.response?.status;
  const turn: Omit<ExecutionTurn, 'turnId'> = {
    timestamp: iso(first.startMs),
    type: 'llm_call',
    request,
    response: described?.response?.body ?? responseOf(last),
    durationMs: duration(first.startMs, last.endMs),
    ...(first.agentId !== undefined && { agentId: first.agentId }),
    ...(last.provider !== undefined && { provider: last.provider }),
    spanIds: attempts.map((attempt) => attempt.spanId),
    ...(status !== undefined && { status }),
    outcome: last.outcome,
    ...(last.error !== undefined && { error: plainError(last.error) }),
  };
  return {
    turn,
    ...place(first),
    endMs: last.endMs,
    call: attempts,
    ...(described !== undefined && {
      llm: {
        provider: described.provider,
        request: { ...described.request, body: request },
        shared: interned?.shared ?? 0,
      },
    }),
  };
}

interface ReadExchange {
  readonly provider: Provider;
  readonly request: ProviderRequest;
  readonly response?: ParsedResponse | undefined;
}

/**
 * As `describeExchange`, without the view for people, which costs more than all the rest. Bodies nested beyond what is
 * read are left to be shown as text.
 */
function readExchange({ request, response, outcome }: ExchangeRecord): ReadExchange | undefined {
  try {
    const asked = readRequest(request);
    const provider = asked && providers.find((candidate) => candidate.matches(asked));
    if (!asked || !provider || !isShallow(asked.body)) return undefined;
    const answer = response && readResponse(response, outcome === 'ok' || outcome === 'error');
    const parsed = answer && provider.parseResponse(answer, asked);
    return isShallow(parsed?.body) ? { provider, request: asked, response: parsed } : undefined;
  } catch {
    // Bytes that no provider can read are shown as they are.
    return undefined;
  }
}

function place(call: ExchangeRecord | ToolRecord) {
  const { processPath, scope, agentId, seqStart, startMs } = call;
  return { processPath, scope, agentId, seqStart, startMs };
}

/** Body of a request in no known wire format: the JSON object that it is, or its text. */
function parsedBody(exchange: ExchangeRecord): JsonObject {
  const text = exchange.request.body.toString('utf8');
  const value = parseJson(text);
  if (isObject(value)) return value;
  return text === '' ? {} : { text };
}

function responseOf(exchange: ExchangeRecord): JsonObject {
  if (exchange.response === undefined || exchange.response.chunks.length === 0)
    return exchange.error === undefined ? {} : { error: plainError(exchange.error) };
  const text = Buffer.concat(exchange.response.chunks.map((chunk) => chunk.bytes)).toString('utf8');
  const value = parseJson(text);
  return isObject(value) ? value : { text };
}

/** The turn of one observed tool call. */
export function toolTurn(call: ToolRecord): DraftTurn {
  return {
    turn: {
      timestamp: iso(call.startMs),
      type: 'tool_call',
      request: { name: call.tool, args: toPlainJson(call.args) },
      response: toolResponse(call),
      durationMs: duration(call.startMs, call.endMs),
      ...(call.agentId !== undefined && { agentId: call.agentId }),
      spanIds: [call.spanId],
      outcome: call.outcome,
    },
    ...place(call),
    endMs: call.endMs,
    call,
  };
}

function toolResponse(call: ToolRecord): JsonObject {
  if (call.thrown !== undefined || call.outcome === 'error') return { error: thrownError(call.thrown, call.error) };
  if (call.result !== undefined) return { result: toPlainJson(call.result) };
  if (call.error !== undefined) return { error: plainError(call.error) };
  // A call that was still open has neither; an `ok` call that answered nothing has the result null.
  return call.outcome === 'ok' ? { result: null } : {};
}

/** What a program threw, as a turn shows it: programs also throw strings and plain objects. */
export function thrownError(
  thrown: unknown,
  recorded?: RecordedError,
): { name: string; message: string; code?: string } {
  if (recorded !== undefined) return plainError(recorded);
  const value = decodeTyped(thrown);
  if (value instanceof Error) {
    const code = (value as { code?: unknown }).code;
    return {
      name: value.name,
      message: value.message,
      ...(typeof code === 'string' && { code }),
    };
  }
  const text = typeof value === 'string' ? value : (JSON.stringify(toPlainJson(thrown)) ?? 'undefined');
  return { name: 'Thrown', message: text };
}
