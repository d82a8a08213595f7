import type { AttributeValue } from '../schema/records';
import { assembleAnthropicStream, encodeAnthropicStream } from './anthropic-stream';
import { attributes, commonAttributes, outputType, stopSequences } from './gen-ai-view';
import { asArray, asNumber, asObject, asString, asText, jsonOrText, objectsOf, readable, without } from './json-fields';
import type { JsonObject } from './json-fields';
import {
  elidedPart,
  inputMessages,
  mediaPart,
  outputMessages,
  systemInstructions,
  toolDefinitions,
} from './message-view';
import type { ViewMessage } from './message-view';
import type { ParsedResponse, Provider, ProviderRequest, ToolCallView, ToolResultView } from './provider';
import { providerNameOf } from './provider-name';
import { parseJsonResponse } from './response-body';
import { isEventStream } from './sse';

const ENDPOINT = '/messages';

/** Anthropic Messages. */
export const anthropicMessages: Provider = {
  id: 'anthropic-messages',
  operation: 'chat',
  matches: ({ method, url, body }) =>
    method.toUpperCase() === 'POST' &&
    url.pathname.replace(/\/+$/, '').endsWith(ENDPOINT) &&
    typeof body['model'] === 'string' &&
    // `POST /threads/{id}/messages` of OpenAI has neither.
    (Array.isArray(body['messages']) || body['max_tokens'] !== undefined),
  providerName: ({ url }) => providerNameOf(url, 'anthropic'),
  parseResponse: (response) =>
    isEventStream(response.contentType, response.text)
      ? assembleAnthropicStream(response.text)
      : parseJsonResponse(response),
  view,
  toolCalls: (body) => objectsOf(body['content']).flatMap(callOf),
  toolResults: ({ body }) =>
    objectsOf(body['messages'])
      .flatMap((message) => objectsOf(message['content']))
      .flatMap(resultOf),
  answerText: (body) =>
    objectsOf(body['content'])
      .map((block) => (block['type'] === 'text' ? (asString(block['text']) ?? '') : ''))
      .join(''),
  shape: ({ body }) =>
    JSON.stringify([
      ENDPOINT,
      body['model'] ?? null,
      toolsOf(body)
        .map((tool) => tool.name)
        .sort(),
      objectsOf(body['messages']).map(roleOf),
    ]),
  withText,
  encodeResponse: (body, request) =>
    request.body['stream'] === true
      ? { contentType: 'text/event-stream; charset=utf-8', pieces: encodeAnthropicStream(body) }
      : { contentType: 'application/json', pieces: [Buffer.from(JSON.stringify(body))] },
};

/** Calls of server tools (`server_tool_use`, `mcp_tool_use`) are answered by the provider, not by the program. */
function callOf(block: JsonObject): ToolCallView[] {
  if (block['type'] !== 'tool_use') return [];
  return [{ id: asString(block['id']) ?? '', name: asString(block['name']) ?? '', args: block['input'] ?? {} }];
}

function resultOf(block: JsonObject): ToolResultView[] {
  const id = asString(block['tool_use_id']);
  if (block['type'] !== 'tool_result' || id === undefined) return [];
  return [{ id, content: contentValue(block['content']), isError: block['is_error'] === true }];
}

/** The content of a tool result: text parts alone are the same as a text. */
function contentValue(content: unknown): unknown {
  if (typeof content === 'string') return jsonOrText(content);
  const parts = objectsOf(content);
  const texts = parts.filter((part) => part['type'] === 'text').map((part) => asString(part['text']) ?? '');
  return texts.length > 0 && texts.length === parts.length ? jsonOrText(texts.join('')) : (content ?? null);
}

/** Tool results travel in messages of the user; a conversation reads better when they are told apart. */
function roleOf(message: JsonObject): unknown {
  const blocks = objectsOf(message['content']);
  const answers = blocks.length > 0 && blocks.every((block) => block['type'] === 'tool_result');
  return answers ? 'tool' : (message['role'] ?? null);
}

function toolsOf(body: JsonObject): { type: string; name: string }[] {
  return objectsOf(body['tools']).map((tool) => {
    const type = asText(tool['type']) ?? 'function';
    return {
      type: type === 'custom' ? 'function' : type,
      name: asText(tool['name']) ?? asText(tool['mcp_server_name']) ?? type,
    };
  });
}

function withText(text: string, request: ProviderRequest, recorded: JsonObject | undefined): Record<string, unknown> {
  const answer = { content: [{ type: 'text', text }], stop_reason: 'end_turn', stop_sequence: null };
  if (recorded && recorded['type'] === 'message') return { ...without(recorded, 'error'), ...answer };
  return {
    id: 'msg_reenact',
    type: 'message',
    role: 'assistant',
    model: asString(request.body['model']) ?? '',
    ...answer,
    usage: { input_tokens: 0, output_tokens: 0 },
  };
}

function view(request: ProviderRequest, response: ParsedResponse | undefined): Record<string, AttributeValue> {
  const { body } = request;
  const answer = response?.body ?? {};
  const messages = asArray(body['messages']);
  const content = objectsOf(answer['content']);
  const reason = asText(answer['stop_reason']);
  const format = body['output_format'] ?? asObject(body['output_config'])['format'];
  return attributes(commonAttributes(anthropicMessages, request, response), usageOf(answer), {
    'gen_ai.request.max_tokens': asNumber(body['max_tokens']),
    'gen_ai.request.stop_sequences': stopSequences(body['stop_sequences']),
    'gen_ai.response.finish_reasons': [reason],
    'gen_ai.output.type': outputType(asObject(format)['type']),
    'gen_ai.tool.definitions': toolDefinitions(toolsOf(body)),
    'gen_ai.system_instructions': systemInstructions(contentParts(body['system'])),
    'gen_ai.input.messages': inputMessages({ count: messages.length, at: (i) => viewMessage(asObject(messages[i])) }),
    'gen_ai.output.messages':
      content.length === 0
        ? undefined
        : outputMessages([{ role: 'assistant', parts: contentParts(content), finish_reason: reason ?? 'unknown' }]),
  });
}

/** Anthropic counts cached tokens apart; the conventions want them in the total. */
function usageOf(answer: JsonObject): Record<string, unknown> {
  const usage = asObject(answer['usage']);
  const read = asNumber(usage['cache_read_input_tokens']);
  const written = asNumber(usage['cache_creation_input_tokens']);
  const fresh = asNumber(usage['input_tokens']);
  return {
    'gen_ai.usage.input_tokens': fresh === undefined ? undefined : fresh + (read ?? 0) + (written ?? 0),
    'gen_ai.usage.output_tokens': usage['output_tokens'],
    'gen_ai.usage.cache_read.input_tokens': read,
    'gen_ai.usage.cache_write.input_tokens': written,
    'gen_ai.usage.reasoning.output_tokens': asObject(usage['output_tokens_details'])['thinking_tokens'],
  };
}

function viewMessage(message: JsonObject): ViewMessage {
  return { role: String(roleOf(message) ?? 'user'), parts: contentParts(message['content']) };
}

function contentParts(content: unknown): JsonObject[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', content }];
  return objectsOf(content).map(contentPart);
}

function contentPart(block: JsonObject): JsonObject {
  const type = asString(block['type']) ?? 'unknown';
  const { id, name } = block;
  switch (type) {
    case 'text':
      return { type, content: block['text'] ?? '' };
    case 'thinking':
      return { type: 'reasoning', content: block['thinking'] ?? '' };
    case 'redacted_thinking':
      return elidedPart('encrypted reasoning');
    case 'tool_use':
      return { type: 'tool_call', id, name, arguments: block['input'] };
    case 'tool_result':
      return { type: 'tool_call_response', id: block['tool_use_id'], response: resultView(block['content']) };
    case 'server_tool_use':
    case 'mcp_tool_use':
      return { type: 'server_tool_call', id, name, server_tool_call: { type: name, input: block['input'] } };
    case 'image':
    case 'document':
      return mediaView(type, asObject(block['source']));
    default:
      return block;
  }
}

function resultView(content: unknown): unknown {
  return Array.isArray(content) ? contentParts(content) : readable(content);
}

function mediaView(modality: string, source: JsonObject): JsonObject {
  const data = asString(source['data']);
  if (source['type'] === 'base64' && data !== undefined) return mediaPart(asText(source['media_type']), data);
  if (source['type'] === 'url') return { type: 'uri', modality, uri: source['url'] };
  if (source['type'] === 'file') return { type: 'file', modality, file_id: source['file_id'] };
  return data === undefined ? { type: modality, ...source } : { type: 'text', content: data };
}
