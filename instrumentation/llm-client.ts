import type { Provider, ProviderRequest } from './providers/provider';
import { providers } from './providers/registry';
import { ReenactError } from './schema/errors';

/** A client of Anthropic's shape, real or written by hand. */
export interface MessagesClient {
  readonly messages: { create(...args: never[]): unknown };
}

/** A client of OpenAI's shape, real or written by hand. */
export interface CompletionsClient {
  readonly chat: { readonly completions: { create(...args: never[]): unknown } };
}

/** Any client with `messages.create` or `chat.completions.create`. */
export type LlmClient = MessagesClient | CompletionsClient;

/** What is asked of a model, in the provider's own shape. */
export type MessageParams = object;

/** What a model answers, in the provider's own shape. */
export interface Message {
  readonly [field: string]: unknown;
}

type Create = (params: unknown, ...rest: unknown[]) => unknown;

/** How one shape of client is called, and whose wire format its messages have. */
export interface ClientShape {
  readonly provider: Provider;
  readonly create: Create;
}

/**
 * Finds the method that creates a message.
 * @throws ReenactError USAGE when the client has neither shape
 */
export function shapeOfClient(client: LlmClient): ClientShape {
  const { messages, chat } = client as Partial<MessagesClient & CompletionsClient>;
  if (typeof messages?.create === 'function')
    return { provider: providerById('anthropic-messages'), create: (...args) => call(messages, args) };
  const completions = chat?.completions;
  if (typeof completions?.create === 'function')
    return { provider: providerById('openai-chat'), create: (...args) => call(completions, args) };
  throw new ReenactError('USAGE', 'the client has neither messages.create nor chat.completions.create', {
    hint: 'Pass the client itself, for example: new RecordingClient({ sessionId, client: new OpenAI() })',
  });
}

/** Looked up at each call: programs replace `create` by their own wrappers. */
function call(owner: { create(...args: never[]): unknown }, args: unknown[]): unknown {
  return owner.create(...(args as never[]));
}

function providerById(id: (typeof providers)[number]['id']): Provider {
  const found = providers.find((provider) => provider.id === id);
  if (found === undefined) throw new ReenactError('INTERNAL', `no provider ${id}`);
  return found;
}

const ENDPOINTS: Readonly<Record<string, string>> = {
  'anthropic-messages': 'https://api.anthropic.com/v1/messages',
  'openai-chat': 'https://api.openai.com/v1/chat/completions',
};

/** A request as its provider file reads it; an injected client has no wire, so the endpoint is the usual one. */
export function asProviderRequest(provider: Provider, body: Readonly<Record<string, unknown>>): ProviderRequest {
  return { method: 'POST', url: new URL(ENDPOINTS[provider.id] ?? 'https://localhost/'), headers: [], body };
}
