import { base64Bytes, boundedValue, cutText } from './bounded-value';
import type { JsonObject } from './json-fields';

/** A message in the shape of the GenAI conventions (gen-ai-input-messages.json). */
export interface ViewMessage {
  readonly role: string;
  readonly parts: readonly JsonObject[];
  readonly name?: string;
  readonly finish_reason?: string;
}

/** Messages of a request, made one by one: a long history is never walked. */
export interface MessageSource {
  readonly count: number;
  at(index: number): ViewMessage;
}

export const INPUT_BUDGET = 768;
export const OUTPUT_BUDGET = 1536;
const SYSTEM_BUDGET = 1024;
const TOOLS_BUDGET = 1024;
/** What the first message, when it is the system prompt, may take of the input. */
const FIRST_BUDGET = 448;
const MARKER_BUDGET = 112;

const byteLength = (text: string): number => Buffer.byteLength(text);

/** `gen_ai.input.messages`: the newest messages that fit, a system prompt at the start, a marker for what is left out. */
export function inputMessages(source: MessageSource): string | undefined {
  if (source.count === 0) return undefined;
  const first = source.count > 1 ? source.at(0) : undefined;
  const pinned = first && /^(?:system|developer)$/.test(first.role) ? fitMessage(first, FIRST_BUDGET) : undefined;
  const oldest = pinned === undefined ? 0 : 1;
  let left = INPUT_BUDGET - 2 - MARKER_BUDGET - (pinned === undefined ? 0 : byteLength(pinned) + 1);
  const shown: string[] = [];
  let index = source.count - 1;
  for (; index >= oldest; index -= 1) {
    const share = shown.length === 0 ? left : Math.min(left, 512);
    const json = fitMessage(source.at(index), share - 1);
    if (json === undefined) break;
    shown.push(json);
    left -= byteLength(json) + 1;
  }
  const elided = index - oldest + 1;
  const marker = { role: 'elided', parts: [elidedPart(`… ${elided} earlier message${elided === 1 ? '' : 's'}`)] };
  const parts = [...(pinned === undefined ? [] : [pinned]), ...(elided > 0 ? [JSON.stringify(marker)] : [])];
  return `[${[...parts, ...shown.reverse()].join(',')}]`;
}

/** `gen_ai.output.messages`: one message per choice, each with its share of the budget. */
export function outputMessages(messages: readonly ViewMessage[]): string | undefined {
  if (messages.length === 0) return undefined;
  const shown = messages.slice(0, 16);
  const share = Math.floor((OUTPUT_BUDGET - 2) / shown.length) - 1;
  const texts = shown.map((message) => fitMessage(message, share)).filter((text) => text !== undefined);
  return `[${texts.join(',')}]`;
}

/** `gen_ai.system_instructions`. */
export function systemInstructions(parts: readonly JsonObject[]): string | undefined {
  if (parts.length === 0) return undefined;
  for (const limit of [SYSTEM_BUDGET, 768, 512, 256, 64]) {
    const json = JSON.stringify(limitParts(parts, limit));
    if (byteLength(json) <= SYSTEM_BUDGET) return json;
  }
  return JSON.stringify([elidedPart(`${parts.length} parts`)]);
}

/** `gen_ai.tool.definitions`: the names only; descriptions and schemas are in the recorded request. */
export function toolDefinitions(tools: readonly { type: string; name: string }[]): string | undefined {
  if (tools.length === 0) return undefined;
  const shown: string[] = [];
  let left = TOOLS_BUDGET - 64;
  for (const { type, name } of tools) {
    const json = JSON.stringify({ type: cutText(type, 64), name: cutText(name, 128) });
    if (byteLength(json) + 1 > left) break;
    shown.push(json);
    left -= byteLength(json) + 1;
  }
  const rest = tools.length - shown.length;
  if (rest > 0) shown.push(JSON.stringify({ type: 'elided', name: `… ${rest} more` }));
  return `[${shown.join(',')}]`;
}

/** The place of something that is not shown, with a note on it. */
export function elidedPart(content: string): JsonObject {
  return { type: 'elided', content };
}

/** A note in place of media that came as base64 text. */
export function mediaPart(mimeType: string | undefined, base64: string): JsonObject {
  return elidedPart(`${mimeType ?? 'media'}, ${base64Bytes(base64.length)} bytes`);
}

/** What the frame of a message with one text takes: `{"role":"assistant","parts":[{"type":"text","content":""}]}`. */
const FRAME_BYTES = 72;

/** The message as JSON of at most `budget` bytes; undefined when not even its outline fits. */
function fitMessage(message: ViewMessage, budget: number): string | undefined {
  for (const limit of [budget - FRAME_BYTES, 512, 256, 128, 64, 32]) {
    if (limit > budget || limit <= 0) continue;
    const json = JSON.stringify(limitMessage(message, limit));
    if (byteLength(json) <= budget) return json;
  }
  const outline = JSON.stringify(
    limitMessage({ ...message, parts: [elidedPart(`${message.parts.length} parts`)] }, 32),
  );
  return byteLength(outline) <= budget ? outline : undefined;
}

function limitMessage(message: ViewMessage, limit: number): JsonObject {
  return {
    role: cutText(message.role, 32),
    parts: limitParts(message.parts, limit),
    ...(message.name !== undefined && { name: cutText(message.name, 64) }),
    ...(message.finish_reason !== undefined && { finish_reason: cutText(message.finish_reason, 64) }),
  };
}

function limitParts(parts: readonly JsonObject[], limit: number): unknown[] {
  const most = Math.max(2, Math.floor(limit / 24));
  const bounds = { text: limit, nodes: Math.max(24, limit) };
  const shown = parts.slice(0, most).map((part) => boundedValue(part, bounds));
  return parts.length > most ? [...shown, elidedPart(`… ${parts.length - most} more parts`)] : shown;
}
