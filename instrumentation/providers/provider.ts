import type { AttributeValue, HeaderList } from '../schema/records';

/** Body bytes of a request, content coding undone, parsed when they are JSON. */
export interface ProviderRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: HeaderList;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Body text of a response, content coding undone. */
export interface ProviderResponse {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
  /** False when the response was cut or aborted: `body` then holds what had arrived. */
  readonly complete: boolean;
}

export interface ToolCallView {
  readonly id: string;
  readonly name: string;
  /** Parsed arguments; the raw text when they are not JSON. */
  readonly args: unknown;
}

export interface ToolResultView {
  readonly id: string;
  /** As the program sent it: parsed when it is JSON text, else the text or the provider's content parts. */
  readonly content: unknown;
  readonly isError: boolean;
}

/** What a provider file reads from a response. */
export interface ParsedResponse {
  /** The provider's non-stream body: parsed JSON, or assembled from a stream. */
  readonly body: Record<string, unknown>;
  /** The finishing mark (finish reason, `[DONE]`, `message_stop`, …) was seen. */
  readonly finished: boolean;
  /** An error in the body or in-band in a stream. */
  readonly error?: { readonly type: string; readonly message: string };
}

/** One wire format. A new provider is one such file, one line in the registry and one fixture. */
export interface Provider {
  readonly id: string;
  /** `gen_ai.operation.name`. */
  readonly operation: string;
  matches(request: ProviderRequest): boolean;
  /** `gen_ai.provider.name`, by host. */
  providerName(request: ProviderRequest): string;
  parseResponse(response: ProviderResponse, request: ProviderRequest): ParsedResponse;
  /** The bounded `gen_ai.*` view. */
  view(request: ProviderRequest, response: ParsedResponse | undefined): Record<string, AttributeValue>;
  /** Tool calls the model asked for in a response body, in order. */
  toolCalls(responseBody: Readonly<Record<string, unknown>>): ToolCallView[];
  /** Tool results the program sends in a request, in order. */
  toolResults(request: ProviderRequest): ToolResultView[];
  /** Text of the answer, for people and assertions. */
  answerText(responseBody: Readonly<Record<string, unknown>>): string;
  /** Endpoint, model, tool names and role sequence: what must agree for `recorded` answers of an edited call. */
  shape(request: ProviderRequest): string;
  /** A response body whose answer is this text, made from the recorded one where there is one. */
  withText(
    text: string,
    request: ProviderRequest,
    recorded: Readonly<Record<string, unknown>> | undefined,
  ): Record<string, unknown>;
  /** A response body as wire bytes, in the form that the request asked for (JSON or stream, one piece per event). */
  encodeResponse(
    body: Readonly<Record<string, unknown>>,
    request: ProviderRequest,
  ): { contentType: string; pieces: Buffer[] };
}
