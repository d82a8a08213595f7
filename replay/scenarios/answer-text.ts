import type { ExecutionTurn } from '../../instrumentation/schema/execution-log';

/**
 * The text the model answered in a turn, without reasoning; '' when it only called tools or failed. Reads the bodies
 * of the known providers and of logs written by hand, so it asks for shapes rather than for a provider.
 */
export function answerText(turn: ExecutionTurn): string {
  const body = turn.response;
  const choices = list(body['choices']);
  if (choices.length > 0) return textOf(field(choices[0], 'message', 'delta')) || textOf(field(choices[0], 'text'));
  const output = list(body['output']);
  if (output.length > 0)
    return output
      .filter((item) => field(item, 'type') === 'message')
      .map(textOf)
      .join('');
  const candidates = list(body['candidates']);
  if (candidates.length > 0) return textOf(field(candidates[0], 'content'));
  for (const name of ['message', 'content', 'text', 'output_text', 'answer', 'response']) {
    const text = textOf(body[name]);
    if (text !== '') return text;
  }
  return '';
}

/** Text of a message, of content parts, or of a string; reasoning and tool parts have none. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(textOf).join('');
  if (typeof value !== 'object' || value === null) return '';
  const type = field(value, 'type');
  if (type === 'thinking' || type === 'reasoning' || field(value, 'thought') === true) return '';
  const own = field(value, 'text', 'refusal');
  if (typeof own === 'string' && own !== '') return own;
  return textOf(field(value, 'content', 'parts') ?? '') || (typeof own === 'string' ? own : '');
}

/** The first of these own fields that is not null; values of logs are untrusted, so prototypes are not asked. */
export function field(value: unknown, ...names: readonly string[]): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  for (const name of names) {
    const item = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
    if (item !== undefined && item !== null) return item;
  }
  return undefined;
}

/** The value when it is a list, else an empty one. */
export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
