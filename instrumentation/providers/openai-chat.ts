import type { AttributeValue } from '../schema/records';
import { commonAttributes, attributes, outputType, stopSequences } from './gen-ai-view';
import {
  asArray,
  asNumber,
  asObject,
  asString,
  asText,
  isObject,
  jsonOrText,
  objectsOf,
  readable,
} from './json-fields';
import type { JsonObject } from './json-fields';
import { elidedPart, inputMessages, outputMessages, toolDefinitions } from './message-view';
import type { ViewMessage } from './message-view';
import { assembleChatStream, encodeChatStream } from './openai-chat-stream';
import type { ParsedResponse, Provider, ProviderRequest, ToolCallView, ToolResultView } from './provider';
import { providerNameOf } from './provider-name';
import { parseJsonResponse } from './response-body';
import { isEventStream } from './sse';

const ENDPOINT = '/chat/completions';

/** OpenAI Chat Completions, and the many services that speak it. */
export const openaiChat: Provider = {
  id: 'openai-chat',
  operation: 'chat',
  matches: ({ method, url, body }) =>
    method.toUpperCase() === 'POST' &&
    url.pathname.replace(/\/+$/, '').endsWith(ENDPOINT) &&
    (Array.isArray(body['messages']) || typeof body['model'] === 'string'),
  providerName: ({ url }) => providerNameOf(url, 'openai'),
  parseResponse: (response, request) =>
    isEventStream(response.contentType, response.text)
      ? assembleChatStream(response.text, asNumber(request.body['n']) ?? 1)
      : parseJsonResponse(response),
  view,
  toolCalls: (body) => choicesOf(body).flatMap((choice) => callsOf(asObject(choice['message']))),
  toolResults: ({ body }) => objectsOf(body['messages']).flatMap(resultOf),
  answerText: (body) => messageText(asObject(choicesOf(body)[0]?.['message'])),
  shape: ({ body }) =>
    JSON.stringify([
      ENDPOINT,
      body['model'] ?? null,
      toolsOf(body)
        .map((tool) => tool.name)
        .sort(),
      objectsOf(body['messages']).map((message) => message['role'] ?? null),
    ]),
  withText,
  encodeResponse: (body, request) =>
    request.body['stream'] === true
      ? { contentType: 'text/event-stream; charset=utf-8', pieces: encodeChatStream(body, streamOptions(request)) }
      : { contentType: 'application/json', pieces: [Buffer.from(JSON.stringify(body))] },
};

/** OpenAI sends the usage of a stream on request only, in a chunk of its own; the services like it send it always. */
function streamOptions(request: ProviderRequest): 'own-chunk' | 'last-chunk' | 'none' {
  if (asObject(request.body['stream_options'])['include_usage'] === true) return 'own-chunk';
  return /^(?:openai|azure\.ai\.openai)$/.test(openaiChat.providerName(request)) ? 'none' : 'last-chunk';
}

function choicesOf(body: JsonObject): JsonObject[] {
  return objectsOf(body['choices']);
}

/** The legacy `function_call` has no id: call and result then share the function's name as theirs. */
function callsOf(message: JsonObject): ToolCallView[] {
  const calls = objectsOf(message['tool_calls']).map((call) => {
    // Custom tools take free text instead of JSON.
    const custom = asObject(call['custom']);
    const target = isObject(call['function']) ? call['function'] : custom;
    const text = asString(target['arguments']) ?? asString(target['input']);
    return {
      id: asString(call['id']) ?? '',
      name: asString(target['name']) ?? '',
      args: text === undefined ? (target['arguments'] ?? {}) : isObject(call['custom']) ? text : argsOf(text),
    };
  });
  const legacy = message['function_call'];
  if (!isObject(legacy)) return calls;
  const name = asString(legacy['name']) ?? '';
  return [...calls, { id: name, name, args: argsOf(asString(legacy['arguments']) ?? '') }];
}

/** A tool without parameters is called with an empty text. */
function argsOf(text: string): unknown {
  return text.trim() === '' ? {} : jsonOrText(text);
}

function resultOf(message: JsonObject): ToolResultView[] {
  const id =
    message['role'] === 'tool' ? message['tool_call_id'] : message['role'] === 'function' ? message['name'] : undefined;
  return typeof id === 'string' ? [{ id, content: contentValue(message['content']), isError: false }] : [];
}

/** The content of a tool message: text parts alone are the same as a text. */
function contentValue(content: unknown): unknown {
  if (typeof content === 'string') return jsonOrText(content);
  const parts = objectsOf(content);
  const texts = parts.filter((part) => part['type'] === 'text').map((part) => asString(part['text']) ?? '');
  return texts.length > 0 && texts.length === parts.length ? jsonOrText(texts.join('')) : (content ?? null);
}

function messageText(message: JsonObject): string {
  const content = message['content'];
  const text =
    asString(content) ??
    objectsOf(content)
      .map((part) => asString(part['text']) ?? '')
      .join('');
  return text || (asString(message['refusal']) ?? '');
}

function toolsOf(body: JsonObject): { type: string; name: string }[] {
  const tools = objectsOf(body['tools']).map((tool) => {
    const type = asString(tool['type']) ?? 'function';
    return { type, name: asText(asObject(tool[type])['name']) ?? asText(tool['name']) ?? type };
  });
  const legacy = objectsOf(body['functions']).map((tool) => ({ type: 'function', name: asString(tool['name']) ?? '' }));
  return [...tools, ...legacy];
}

function withText(text: string, request: ProviderRequest, recorded: JsonObject | undefined): Record<string, unknown> {
  const first = recorded && choicesOf(recorded)[0];
  const message = { role: 'assistant', content: text, refusal: null };
  const choice = { index: 0, message, logprobs: null, finish_reason: 'stop' };
  if (recorded && first) return { ...recorded, choices: [{ ...first, ...choice }, ...choicesOf(recorded).slice(1)] };
  return {
    id: 'chatcmpl-reenact',
    object: 'chat.completion',
    created: 0,
    model: asString(request.body['model']) ?? '',
    choices: [choice],
    usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
  };
}

function view(request: ProviderRequest, response: ParsedResponse | undefined): Record<string, AttributeValue> {
  const { body } = request;
  const answer = response?.body ?? {};
  const choices = choicesOf(answer);
  const n = asNumber(body['n']);
  const messages = asArray(body['messages']);
  const tier = asText(body['service_tier']);
  return attributes(commonAttributes(openaiChat, request, response), usageOf(answer), {
    'gen_ai.request.max_tokens': asNumber(body['max_completion_tokens']) ?? asNumber(body['max_tokens']),
    'gen_ai.request.stop_sequences': stopSequences(body['stop']),
    'gen_ai.request.choice.count': n === 1 ? undefined : n,
    'gen_ai.response.finish_reasons': choices.map((choice) => choice['finish_reason']),
    'gen_ai.output.type': asArray(body['modalities']).includes('audio')
      ? 'speech'
      : outputType(asObject(body['response_format'])['type']),
    'openai.api.type': 'chat_completions',
    'openai.request.service_tier': tier === 'auto' ? undefined : tier,
    'openai.response.service_tier': asText(answer['service_tier']),
    'openai.response.system_fingerprint': asText(answer['system_fingerprint']),
    'gen_ai.tool.definitions': toolDefinitions(toolsOf(body)),
    'gen_ai.input.messages': inputMessages({ count: messages.length, at: (i) => viewMessage(asObject(messages[i])) }),
    'gen_ai.output.messages': outputMessages(
      choices.map((choice) => ({
        ...viewMessage(asObject(choice['message'])),
        finish_reason: asString(choice['finish_reason']) ?? 'unknown',
      })),
    ),
  });
}

function usageOf(answer: JsonObject): Record<string, unknown> {
  const usage = asObject(answer['usage'] ?? asObject(answer['x_groq'])['usage']);
  const input = asObject(usage['prompt_tokens_details']);
  return {
    'gen_ai.usage.input_tokens': usage['prompt_tokens'],
    'gen_ai.usage.output_tokens': usage['completion_tokens'],
    'gen_ai.usage.cache_read.input_tokens':
      input['cached_tokens'] ?? usage['cached_tokens'] ?? usage['prompt_cache_hit_tokens'],
    'gen_ai.usage.cache_write.input_tokens': input['cache_write_tokens'],
    'gen_ai.usage.reasoning.output_tokens': asObject(usage['completion_tokens_details'])['reasoning_tokens'],
  };
}

function viewMessage(message: JsonObject): ViewMessage {
  const role = asString(message['role']) ?? 'assistant';
  const name = asText(message['name']);
  if (role === 'tool' || role === 'function') {
    const id = asString(message['tool_call_id']) ?? name;
    return { role: 'tool', parts: [{ type: 'tool_call_response', id, response: readable(message['content']) }] };
  }
  const reasoning = asText(message['reasoning']) ?? asText(message['reasoning_content']);
  const refusal = asText(message['refusal']);
  return {
    role,
    parts: [
      ...(reasoning === undefined ? [] : [{ type: 'reasoning', content: reasoning }]),
      ...contentParts(message['content']),
      ...(refusal === undefined ? [] : [{ type: 'refusal', content: refusal }]),
      ...callsOf(message).map((call) => ({ type: 'tool_call', id: call.id, name: call.name, arguments: call.args })),
      ...(isObject(message['audio']) ? [elidedPart('audio')] : []),
    ],
    ...(name !== undefined && { name }),
  };
}

function contentParts(content: unknown): JsonObject[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', content }];
  return objectsOf(content).map((part) => {
    const type = asString(part['type']) ?? 'unknown';
    if (type === 'text' || type === 'refusal') return { type, content: part[type] ?? '' };
    if (type === 'thinking') return { type: 'reasoning', content: part['thinking'] ?? '' };
    const url = asString(asObject(part['image_url'])['url']) ?? asString(part['image_url']);
    if (url !== undefined && !url.startsWith('data:')) return { type: 'uri', modality: 'image', uri: url };
    return url === undefined ? part : { type: 'elided', content: url };
  });
}
