import type { ExecutionTurn } from '../../instrumentation/schema/execution-log';
import { field } from './answer-text';

export interface TokenCount {
  readonly input: number;
  readonly output: number;
}

/** Tokens of an LLM turn as its provider counted them, cached input included; undefined when it did not say. */
export function tokensOf(turn: ExecutionTurn): TokenCount | undefined {
  const usage = field(turn.response, 'usage', 'usageMetadata') ?? turn.response;
  const input = count(usage, 'prompt_tokens', 'input_tokens', 'promptTokenCount', 'prompt_eval_count');
  const output = count(usage, 'completion_tokens', 'output_tokens', 'candidatesTokenCount', 'eval_count');
  if (input === undefined && output === undefined) return undefined;
  // Anthropic counts cached input apart from `input_tokens`; OpenAI and Gemini count it in.
  const cached = (count(usage, 'cache_read_input_tokens') ?? 0) + (count(usage, 'cache_creation_input_tokens') ?? 0);
  return { input: (input ?? 0) + cached, output: output ?? 0 };
}

function count(usage: unknown, ...names: string[]): number | undefined {
  const value = field(usage, ...names);
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}
