import type { AttributeValue } from '../schema/records';
import { attributes, commonAttributes, outputType } from './gen-ai-view';
import { asNumber, asObject, asString, asText, isObject, jsonOrText, objectsOf, readable } from './json-fields';
import type { JsonObject } from './json-fields';
import { elidedPart, inputMessages, outputMessages, systemInstructions, toolDefinitions } from './message-view';
import type { ViewMessage } from './message-view';
import { encodeResponsesStream } from './openai-responses-encode';
import { assembleResponsesStream } from './openai-responses-stream';
import type { ParsedResponse, Provider, ProviderRequest, ToolCallView, ToolResultView } from './provider';
import { providerNameOf } from './provider-name';
import { parseJsonResponse } from './response-body';
import { isEventStream } from './sse';

const ENDPOINT = '/responses';

/** Fields of which a request of this endpoint has at least one. */
const MARKS = ['input', 'model', 'prompt', 'conversation', 'previous_response_id'];

/** OpenAI Responses. */
export const openaiResponses: Provider = {
  id: 'openai-responses',
  operation: 'chat',
  matches: ({ method, url, body }) =>
    method.toUpperCase() === 'POST' &&
    url.pathname.replace(/\/+$/, '').endsWith(ENDPOINT) &&
    MARKS.some((mark) => body[mark] !== undefined && body[mark] !== null),
  providerName: ({ url }) => providerNameOf(url, 'openai'),
  parseResponse: (response) => {
    if (isEventStream(response.contentType, response.text)) return assembleResponsesStream(response.text);
    const parsed = parseJsonResponse(response);
    // A background response answers at once, unfinished.
    return /^(?:queued|in_progress)$/.test(String(parsed.body['status'])) ? { ...parsed, finished: false } : parsed;
  },
  view,
  toolCalls: (body) => objectsOf(body['output']).flatMap(callOf),
  toolResults: ({ body }) => objectsOf(body['input']).flatMap(resultOf),
  answerText,
  shape: ({ body }) =>
    JSON.stringify([
      ENDPOINT,
      body['model'] ?? null,
      toolsOf(body)
        .map((tool) => tool.name)
        .sort(),
      typeof body['input'] === 'string'
        ? ['user']
        : objectsOf(body['input']).map((item) => item['role'] ?? item['type'] ?? null),
    ]),
  withText,
  encodeResponse: (body, request) =>
    request.body['stream'] === true
      ? { contentType: 'text/event-stream; charset=utf-8', pieces: encodeResponsesStream(body) }
      : { contentType: 'application/json', pieces: [Buffer.from(JSON.stringify(body))] },
};

/** Calls that the program is to answer have a `call_id`; those that the provider answers itself have none. */
function callOf(item: JsonObject): ToolCallView[] {
  const type = asString(item['type']) ?? '';
  const id = asString(item['call_id']);
  if (id === undefined || !type.endsWith('_call')) return [];
  const text = asString(item['arguments']);
  const args = text === undefined ? (item['input'] ?? item['action'] ?? item['operation'] ?? {}) : argsOf(text);
  return [{ id, name: asText(item['name']) ?? type, args }];
}

function argsOf(text: string): unknown {
  return text.trim() === '' ? {} : jsonOrText(text);
}

function resultOf(item: JsonObject): ToolResultView[] {
  const id = asString(item['call_id']);
  if (id === undefined || !String(item['type']).endsWith('_output')) return [];
  return [{ id, content: outputValue(item['output']), isError: false }];
}

function outputValue(output: unknown): unknown {
  if (typeof output === 'string') return jsonOrText(output);
  const parts = objectsOf(output);
  const texts = parts.filter((part) => part['type'] === 'input_text').map((part) => asString(part['text']) ?? '');
  return texts.length > 0 && texts.length === parts.length ? jsonOrText(texts.join('')) : (output ?? null);
}

function answerText(body: JsonObject): string {
  const parts = objectsOf(body['output'])
    .filter((item) => item['type'] === 'message')
    .flatMap((item) => objectsOf(item['content']));
  const texts = parts.map((part) => asString(part['text']) ?? '').join('');
  return texts || parts.map((part) => asString(part['refusal']) ?? '').join('');
}

function toolsOf(body: JsonObject): { type: string; name: string }[] {
  return objectsOf(body['tools']).map((tool) => {
    const type = asString(tool['type']) ?? 'function';
    return { type, name: asText(tool['name']) ?? asText(tool['server_label']) ?? type };
  });
}

function withText(text: string, request: ProviderRequest, recorded: JsonObject | undefined): Record<string, unknown> {
  const before = objectsOf(recorded?.['output']).find((item) => item['type'] === 'message');
  const message = {
    id: asString(before?.['id']) ?? 'msg_reenact',
    type: 'message',
    status: 'completed',
    role: 'assistant',
    content: [{ type: 'output_text', annotations: [], logprobs: [], text }],
  };
  const answer = { status: 'completed', error: null, incomplete_details: null, output: [message] };
  if (recorded && asText(recorded['id']) !== undefined)
    return { ...recorded, ...answer, ...('output_text' in recorded && { output_text: text }) };
  return {
    id: 'resp_reenact',
    object: 'response',
    created_at: 0,
    model: asString(request.body['model']) ?? '',
    parallel_tool_calls: true,
    tool_choice: 'auto',
    tools: [],
    instructions: null,
    metadata: {},
    temperature: null,
    top_p: null,
    usage: {
      input_tokens: 0,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 0,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 0,
    },
    ...answer,
  };
}

function view(request: ProviderRequest, response: ParsedResponse | undefined): Record<string, AttributeValue> {
  const { body } = request;
  const answer = response?.body ?? {};
  const tier = asText(body['service_tier']);
  const reason = finishReason(answer);
  const output = objectsOf(answer['output']);
  const instructions = asText(body['instructions']);
  return attributes(commonAttributes(openaiResponses, request, response), usageOf(answer), {
    'gen_ai.request.max_tokens': asNumber(body['max_output_tokens']),
    'gen_ai.response.finish_reasons': [reason],
    'gen_ai.output.type': outputType(asObject(asObject(body['text'])['format'])['type']),
    'gen_ai.conversation.id': conversationId(body['conversation']) ?? conversationId(answer['conversation']),
    'openai.api.type': 'responses',
    'openai.request.service_tier': tier === 'auto' ? undefined : tier,
    'openai.response.service_tier': asText(answer['service_tier']),
    'gen_ai.tool.definitions': toolDefinitions(toolsOf(body)),
    'gen_ai.system_instructions': systemInstructions(
      instructions === undefined ? [] : [{ type: 'text', content: instructions }],
    ),
    'gen_ai.input.messages': viewInput(body['input']),
    'gen_ai.output.messages':
      output.length === 0
        ? undefined
        : outputMessages([{ role: 'assistant', parts: output.flatMap(itemParts), finish_reason: reason ?? 'unknown' }]),
  });
}

/** The endpoint gives a status; the conventions want the reason in words of their list. */
function finishReason(answer: JsonObject): string | undefined {
  const status = answer['status'];
  if (status === 'incomplete') return asText(asObject(answer['incomplete_details'])['reason']) ?? 'incomplete';
  if (status === 'failed' || status === 'cancelled') return status === 'failed' ? 'error' : 'cancelled';
  if (status !== 'completed') return undefined;
  return objectsOf(answer['output']).some((item) => callOf(item).length > 0) ? 'tool_calls' : 'stop';
}

function conversationId(value: unknown): string | undefined {
  return asText(value) ?? asText(asObject(value)['id']);
}

function usageOf(answer: JsonObject): Record<string, unknown> {
  const usage = asObject(answer['usage']);
  const input = asObject(usage['input_tokens_details']);
  return {
    'gen_ai.usage.input_tokens': usage['input_tokens'],
    'gen_ai.usage.output_tokens': usage['output_tokens'],
    'gen_ai.usage.cache_read.input_tokens': input['cached_tokens'],
    'gen_ai.usage.cache_write.input_tokens': input['cache_write_tokens'],
    'gen_ai.usage.reasoning.output_tokens': asObject(usage['output_tokens_details'])['reasoning_tokens'],
  };
}

function viewInput(input: unknown): string | undefined {
  if (typeof input === 'string')
    return inputMessages({ count: 1, at: () => ({ role: 'user', parts: contentParts(input) }) });
  const items = Array.isArray(input) ? (input as unknown[]) : [];
  return inputMessages({ count: items.length, at: (index) => viewItem(asObject(items[index])) });
}

function viewItem(item: JsonObject): ViewMessage {
  const type = asString(item['type']) ?? 'message';
  if (type === 'message') return { role: asString(item['role']) ?? 'user', parts: contentParts(item['content']) };
  return { role: type.endsWith('_output') ? 'tool' : 'assistant', parts: itemParts(item) };
}

function itemParts(item: JsonObject): JsonObject[] {
  const type = asString(item['type']) ?? 'message';
  if (type === 'message') return contentParts(item['content']);
  if (type === 'reasoning') return reasoningParts(item);
  if (type.endsWith('_output') && isObject(item))
    return [{ type: 'tool_call_response', id: item['call_id'], response: readable(item['output']) }];
  const [call] = callOf(item);
  if (call) return [{ type: 'tool_call', id: call.id, name: call.name, arguments: call.args }];
  const { id, ...rest } = item;
  if (type.endsWith('_call')) return [{ type: 'server_tool_call', id, name: type, server_tool_call: rest }];
  return [item];
}

/** Reasoning is readable in its summary or its text; the encrypted form says nothing to a person. */
function reasoningParts(item: JsonObject): JsonObject[] {
  const texts = [...objectsOf(item['summary']), ...objectsOf(item['content'])].flatMap(
    (part) => asText(part['text']) ?? [],
  );
  return texts.length > 0
    ? texts.map((content) => ({ type: 'reasoning', content }))
    : [elidedPart(asText(item['encrypted_content']) === undefined ? 'reasoning' : 'encrypted reasoning')];
}

function contentParts(content: unknown): JsonObject[] {
  if (typeof content === 'string') return [{ type: 'text', content }];
  return objectsOf(content).map((part) => {
    const type = asString(part['type']) ?? 'unknown';
    if (type.endsWith('_text')) return { type: 'text', content: part['text'] ?? '' };
    if (type === 'refusal') return { type, content: part['refusal'] ?? '' };
    const url = asString(part['image_url']) ?? asString(part['file_url']);
    const modality = type === 'input_image' ? 'image' : 'document';
    if (url !== undefined) return url.startsWith('data:') ? elidedPart(url) : { type: 'uri', modality, uri: url };
    const file = asText(part['file_id']);
    return file === undefined ? part : { type: 'file', modality, file_id: file };
  });
}
