import { field, list, textOf } from '../../scenarios/answer-text';

export interface ShownToolCall {
  readonly id: string;
  readonly name: string;
  readonly args: unknown;
}

export interface ShownToolResult {
  readonly id: string;
  readonly content: unknown;
  /** The turn that shows the same result already. */
  readonly turn?: number;
}

/** A message in one shape, whatever the provider. */
export interface ShownMessage {
  readonly role: string;
  readonly text: string;
  readonly reasoning: string;
  readonly toolCalls: readonly ShownToolCall[];
  readonly toolResults: readonly ShownToolResult[];
  /** Parts that are neither text nor tools, e.g. `image`. */
  readonly otherParts: readonly string[];
}

/** The messages of a request body, instructions first. */
export function requestMessages(body: Readonly<Record<string, unknown>>): ShownMessage[] {
  const instructions = field(body, 'system', 'instructions', 'systemInstruction', 'system_instruction');
  const shown = instructions === undefined ? [] : [readMessage({ role: 'system', content: instructions })];
  const listed = [...list(body['messages']), ...joinAssistantItems(list(body['input'])), ...list(body['contents'])];
  if (typeof body['input'] === 'string') listed.push({ role: 'user', content: body['input'] });
  if (typeof body['prompt'] === 'string') listed.push({ role: 'user', content: body['prompt'] });
  return [...shown, ...listed.map(readMessage)];
}

/**
 * Items of the Responses endpoint, those that one answer of the model gave put together: reasoning, text and calls come
 * back as an item each, and are one message to a reader, as they were when the model gave them.
 */
function joinAssistantItems(items: readonly unknown[]): unknown[] {
  const joined: unknown[] = [];
  let answer: unknown[] | undefined;
  for (const item of items) {
    const isAnswer = typeof item === 'object' && item !== null && roleOf(item) === 'assistant';
    if (isAnswer && answer !== undefined) answer.push(item);
    else {
      answer = isAnswer ? [item] : undefined;
      joined.push(answer === undefined ? item : { role: 'assistant', content: answer });
    }
  }
  return joined;
}

/** The messages of a response body: one per choice, or one for the output as a whole. */
export function responseMessages(body: Readonly<Record<string, unknown>>): ShownMessage[] {
  const choices = list(body['choices']);
  if (choices.length > 0)
    return choices.map((choice) =>
      readMessage(field(choice, 'message', 'delta') ?? { content: field(choice, 'text') }),
    );
  const candidates = list(body['candidates']);
  if (candidates.length > 0) return candidates.map((candidate) => readMessage(field(candidate, 'content')));
  const output = list(body['output']);
  if (output.length > 0) return [readMessage({ role: 'assistant', content: output })];
  const single = field(body, 'message') ?? (field(body, 'content') !== undefined ? body : undefined);
  if (single !== undefined) return [readMessage(single)];
  return typeof body['text'] === 'string' ? [readMessage({ content: body['text'] })] : [];
}

interface Parts {
  text: string;
  reasoning: string;
  toolCalls: ShownToolCall[];
  toolResults: { id: string; content: unknown }[];
  otherParts: string[];
}

function readMessage(message: unknown): ShownMessage {
  const parts: Parts = { text: '', reasoning: '', toolCalls: [], toolResults: [], otherParts: [] };
  if (typeof message === 'string') parts.text = message;
  const reasoning = field(message, 'reasoning_content', 'reasoning');
  if (typeof reasoning === 'string') parts.reasoning = reasoning;
  const role = roleOf(message);
  if (role === 'tool' || role === 'function') {
    parts.toolResults.push({ id: id(message), content: toolContent(field(message, 'content', 'output')) });
  } else {
    const content = field(message, 'content', 'parts', 'text', 'refusal');
    if (content !== undefined) readContent(content, parts);
    else if (message !== undefined) readPart(message, parts);
    for (const call of list(field(message, 'tool_calls'))) parts.toolCalls.push(readCall(call));
    const legacy = field(message, 'function_call');
    if (legacy !== undefined) parts.toolCalls.push(readCall(legacy));
  }
  return { role, ...parts };
}

function roleOf(message: unknown): string {
  const role = field(message, 'role');
  if (role === 'model') return 'assistant';
  if (typeof role === 'string') return role;
  return isResultItem(message) ? 'tool' : 'assistant';
}

/** Items of the Responses endpoint that carry a `call_id` are the program's calls, of whatever kind, and their results. */
function isResultItem(item: unknown): boolean {
  return field(item, 'call_id') !== undefined && String(field(item, 'type')).endsWith('_output');
}

function isCallItem(item: unknown): boolean {
  return field(item, 'call_id') !== undefined && String(field(item, 'type')).endsWith('_call');
}

function readContent(content: unknown, parts: Parts): void {
  if (typeof content === 'string') parts.text += content;
  else if (Array.isArray(content)) for (const part of content as unknown[]) readPart(part, parts);
  else readPart(content, parts);
}

function readPart(part: unknown, parts: Parts): void {
  if (typeof part === 'string') {
    parts.text += part;
    return;
  }
  const type = String(field(part, 'type') ?? '');
  const call = field(part, 'functionCall');
  const result = field(part, 'functionResponse');
  if (type === 'tool_use' || isCallItem(part) || call !== undefined) parts.toolCalls.push(readCall(call ?? part));
  else if (type === 'tool_result' || isResultItem(part) || result !== undefined)
    parts.toolResults.push({
      id: id(result ?? part),
      content: toolContent(field(result ?? part, 'content', 'output', 'response')),
    });
  else if (type === 'thinking' || type === 'reasoning' || field(part, 'thought') === true) {
    const text =
      textOf(field(part, 'thinking', 'text')) || textOf(field(part, 'summary')) || textOf(field(part, 'content'));
    parts.reasoning += text;
    // The model thought, and what it thought is not told, or only in a form that nobody can read.
    if (text === '') parts.otherParts.push(type === 'reasoning' ? 'reasoning' : 'thinking');
  } else if (type === 'message') readContent(field(part, 'content') ?? '', parts);
  else if (textOf(part) !== '') parts.text += textOf(part);
  else if (type !== '' && type !== 'text') parts.otherParts.push(type);
}

function readCall(call: unknown): ShownToolCall {
  const inner = field(call, 'function') ?? call;
  const args = field(inner, 'arguments', 'input', 'args', 'action', 'operation');
  return { id: id(call), name: String(field(inner, 'name') ?? field(call, 'type') ?? '?'), args: parsed(args) };
}

function id(value: unknown): string {
  return String(field(value, 'tool_call_id', 'tool_use_id', 'call_id', 'id') ?? '');
}

function toolContent(content: unknown): unknown {
  const text = textOf(content);
  return parsed(text === '' ? content : text);
}

/** JSON text as its value, anything else as it is. */
function parsed(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    // Text that only begins like JSON is shown as the text it is.
    return value;
  }
}
