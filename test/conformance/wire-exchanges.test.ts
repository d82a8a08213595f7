import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { describeExchange } from '../../instrumentation/providers/describe';
import type { WireRequest, WireResponse } from '../../instrumentation/schema/records';
import type { Json } from './provider.case';
import { onTheWire, serveBody } from './provider.case';

/** Recorded traffic of real services; too large, and not ours, to stand in this repository. */
const folder = process.env['REENACT_WIRE_DIR'] ?? resolve(__dirname, '../../../shared/wire');

interface Message {
  headers: Record<string, string | string[]>;
  body?: string;
  bodyBase64?: string;
}
interface Exchange {
  id: string;
  request: Message & { method: string; url: string };
  response: Message & { status: number; isSSE?: boolean; bodyCompression?: string };
}

const bytesOf = (message: Message): Buffer =>
  message.bodyBase64 === undefined ? Buffer.from(message.body ?? '') : Buffer.from(message.bodyBase64, 'base64');
const headersOf = (message: Message): [string, string][] =>
  Object.entries(message.headers).flatMap(([name, value]) =>
    [value].flat().map((item): [string, string] => [name, item]),
  );

function describeRecorded({ request, response }: Exchange) {
  const sent: WireRequest = {
    method: request.method,
    url: request.url,
    headers: headersOf(request),
    body: bytesOf(request),
  };
  const received: WireResponse = {
    status: response.status,
    statusText: '',
    headers: headersOf(response),
    headSeq: 1,
    headMs: 0,
    chunks: [{ seq: 2, ms: 0, bytes: bytesOf(response) }],
    trailers: [],
  };
  return describeExchange(sent, received);
}

/** By host and path of the recording, told apart from how the code under test does it. */
function expectedProvider(id: string): string | undefined {
  if (/embeddings|batch|handoff-[14]$/.test(id)) return undefined;
  if (/anthropic/.test(id)) return 'anthropic-messages';
  if (/responses|openai-401/.test(id)) return 'openai-responses';
  return /openai-chat|mistral|groq|openrouter|together/.test(id) ? 'openai-chat' : undefined;
}

/** What the SDK makes of the recorded answer, served as it came. */
function readBySdk({ request, response }: Exchange, provider: string): Promise<unknown> {
  const body = JSON.parse(bytesOf(request).toString()) as Json;
  const contentType = response.isSSE ? 'text/event-stream' : 'application/json';
  return serveBody({ contentType, pieces: [bytesOf(response)] }, async (origin) => {
    const openai = new OpenAI({ apiKey: 'none', baseURL: origin, maxRetries: 0 });
    const anthropic = new Anthropic({ apiKey: 'none', baseURL: origin, maxRetries: 0, timeout: 60_000 });
    const streamed = body['stream'] === true;
    switch (provider) {
      case 'openai-chat':
        return streamed
          ? openai.chat.completions.stream(body as never).finalChatCompletion()
          : openai.chat.completions.create(body as never);
      case 'openai-responses':
        return streamed
          ? openai.responses.stream(body as never).finalResponse()
          : openai.responses.create(body as never);
      default:
        return streamed
          ? anthropic.messages.stream(body as never).finalMessage()
          : anthropic.messages.create(body as never);
    }
  });
}

/** What the SDK of OpenAI loses of services like it: the first pieces of unknown fields, and tool calls without index. */
const LOST_BY_SDK = new Set(['27-mistral-stream-tools', '32-openrouter-stream-reasoning', '37-together-stream']);

const present = existsSync(folder);
const exchanges = present
  ? readdirSync(folder)
      .filter((name) => name.endsWith('.json'))
      .map((name): [string, Exchange] => [
        name.slice(0, -5),
        JSON.parse(readFileSync(join(folder, name), 'utf8')) as Exchange,
      ])
  : [];

if (!present) {
  it.skip('needs recorded exchanges of real services: set REENACT_WIRE_DIR', () => undefined);
} else {
  describe('recorded exchanges of real services', () => {
    it.each(exchanges)('%s is read by the provider of its format and by no other', (id, exchange) => {
      expect(describeRecorded(exchange)?.provider.id).toBe(expectedProvider(id));
    });

    const readable = exchanges.filter(([id]) => expectedProvider(id) !== undefined);

    it.each(readable)('%s is finished, its view is bounded, and its errors are named', (_id, exchange) => {
      const described = describeRecorded(exchange);
      expect(described?.response?.finished).toBe(true);
      expect(described?.response?.error === undefined).toBe(exchange.response.status < 400);
      for (const [name, value] of Object.entries(described?.view ?? {})) {
        expect(Buffer.byteLength(JSON.stringify(value))).toBeLessThan(name === 'gen_ai.output.messages' ? 6000 : 3000);
        if (name.endsWith('.messages')) expect(() => JSON.parse(String(value)) as unknown).not.toThrow();
      }
    });

    it.each(readable)('%s survives being encoded and read again', (_id, exchange) => {
      const described = describeRecorded(exchange);
      const body = described?.response?.body ?? {};
      const encoded = described?.provider.encodeResponse(body, described.request);
      const text = Buffer.concat(encoded?.pieces ?? []).toString();
      const response = {
        status: exchange.response.status,
        contentType: encoded?.contentType ?? '',
        text,
        complete: true,
      };
      expect(described?.provider.parseResponse(response, described.request).body).toEqual(body);
    });

    const plain = readable.filter(
      ([id, { response }]) => response.status === 200 && response.bodyCompression === undefined && !LOST_BY_SDK.has(id),
    );

    it.each(plain)('%s is read as the SDK reads it', async (id, exchange) => {
      const sdk = await readBySdk(exchange, expectedProvider(id) ?? '');
      expect(onTheWire(describeRecorded(exchange)?.response?.body)).toEqual(onTheWire(sdk));
    });
  });
}
