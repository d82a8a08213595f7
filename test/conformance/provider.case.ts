import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ParsedResponse, Provider, ProviderRequest } from '../../instrumentation/providers/provider';
import { providers } from '../../instrumentation/providers/registry';

export type Json = Record<string, unknown>;

export interface StreamCase {
  readonly name: string;
  /** Fields added to the request of the fixture. */
  readonly request?: Json;
  readonly stream: string;
}

/** What a provider file is tried with; the SDK of the provider is the judge. */
export interface ProviderFixture {
  readonly id: string;
  readonly path: string;
  readonly request: Json;
  /** Headers that a request of this format carries. */
  readonly headers?: readonly (readonly [string, string])[];
  /** Text of a body that the API answers without `stream`, by name. */
  readonly bodies: Readonly<Record<string, Json>>;
  readonly streams: readonly StreamCase[];
  /** What the SDK's own accumulator makes of a stream. */
  accumulate(origin: string, request: Json): Promise<unknown>;
  /** What the SDK makes of an answer without `stream`. */
  create(origin: string, request: Json): Promise<unknown>;
}

/** Serves one body to whatever is asked. */
export async function serveBody<T>(
  answer: { contentType: string; pieces: readonly (Buffer | string)[]; status?: number },
  use: (origin: string) => Promise<T>,
): Promise<T> {
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      response.writeHead(answer.status ?? 200, { 'content-type': answer.contentType });
      for (const piece of answer.pieces) response.write(piece);
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** Fields that SDKs add for the convenience of programs, and the padding of events, which they keep. */
const SDK_FIELDS = new Set([
  'parsed',
  'parsed_arguments',
  'output_parsed',
  'output_text',
  'obfuscation',
  '_request_id',
  'request_id',
]);

/** A body without null fields and without what only the SDK adds, as plain JSON. */
export function onTheWire(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, item: unknown) =>
      item === null || SDK_FIELDS.has(key) || (key === 'logprobs' && Array.isArray(item) && item.length === 0)
        ? undefined
        : item,
    ),
  );
}

export function requestOf(fixture: ProviderFixture, more: Json = {}): ProviderRequest {
  return {
    method: 'POST',
    url: new URL(`https://gateway.example${fixture.path}`),
    headers: fixture.headers ?? [],
    body: { ...fixture.request, ...more },
  };
}

/** The provider's reading of a stream. */
export function parseStream(provider: Provider, text: string, request: ProviderRequest): ParsedResponse {
  return provider.parseResponse({ status: 200, contentType: 'text/event-stream', text, complete: true }, request);
}

/** The suite that every entry of the registry passes. */
export function providerConformance(provider: Provider, fixture: ProviderFixture): void {
  const streamed = requestOf(fixture, { stream: true });

  it('matches its own request and no other provider does', () => {
    expect(providers.filter((other) => other.matches(requestOf(fixture))).map((other) => other.id)).toEqual([
      fixture.id,
    ]);
  });

  it.each(fixture.streams.map((item) => [item.name, item] as const))(
    'assembles the stream "%s" into what the SDK accumulates',
    async (_name, { stream, request = {} }) => {
      const final = await serveBody({ contentType: 'text/event-stream', pieces: [stream] }, (origin) =>
        fixture.accumulate(origin, { ...fixture.request, ...request }),
      );
      const parsed = parseStream(provider, stream, requestOf(fixture, { ...request, stream: true }));
      expect(onTheWire(parsed.body)).toEqual(onTheWire(final));
      expect(parsed.finished).toBe(true);
    },
  );

  it.each(fixture.streams.map((item) => [item.name, item] as const))(
    'encodes what it read of the stream "%s" into a stream that reads equal, for itself and for the SDK',
    async (_name, { stream, request = {} }) => {
      const asked = requestOf(fixture, { ...request, stream: true });
      const { body } = parseStream(provider, stream, asked);
      const encoded = provider.encodeResponse(body, asked);
      const text = Buffer.concat(encoded.pieces).toString();
      expect(parseStream(provider, text, asked).body).toEqual(body);
      const final = await serveBody(encoded, (origin) =>
        fixture.accumulate(origin, { ...fixture.request, ...request }),
      );
      expect(onTheWire(final)).toEqual(onTheWire(body));
    },
  );

  it.each(Object.entries(fixture.bodies))(
    'encodes the body "%s" so that the SDK reads it back',
    async (_name, body) => {
      const encoded = provider.encodeResponse(body, requestOf(fixture));
      const read = await serveBody(encoded, (origin) => fixture.create(origin, fixture.request));
      expect(onTheWire(read)).toEqual(onTheWire(body));
    },
  );

  it.each(Object.entries(fixture.bodies))('turns the body "%s" into a stream and back', (_name, body) => {
    const encoded = provider.encodeResponse(body, requestOf(fixture, { stream: true, ...USAGE }));
    const text = Buffer.concat(encoded.pieces).toString();
    expect(onTheWire(parseStream(provider, text, streamed).body)).toEqual(onTheWire(body));
  });

  it('never throws on a stream that is cut at any byte, and calls it unfinished until its end mark', () => {
    const finishedEarly: number[] = [];
    const shortest = Math.min(...fixture.streams.map(({ stream }) => stream.length));
    for (const { stream } of fixture.streams) {
      const bytes = Buffer.from(stream);
      // Every byte of one stream; a stride of the others finds what differs in them.
      for (let cut = 0; cut < bytes.length; cut += stream.length === shortest ? 1 : 7) {
        const text = bytes.subarray(0, cut).toString();
        const parsed = parseStream(provider, text, streamed);
        provider.toolCalls(parsed.body);
        if (cut % 21 === 0) readEverything(provider, streamed, parsed);
        if (parsed.finished && cut < bytes.length / 2) finishedEarly.push(cut);
      }
    }
    expect(finishedEarly).toEqual([]);
  });

  it('never throws on bytes that are no answer', () => {
    const random = seeded(42);
    for (let round = 0; round < 50; round += 1) {
      const noise = Buffer.from(Array.from({ length: 200 }, () => Math.floor(random() * 256))).toString();
      for (const text of [noise, `data: ${noise}\n\n`, JSON.stringify(mutate(fixture.bodies, random))]) {
        for (const contentType of ['text/event-stream', 'application/json', ''])
          readEverything(
            provider,
            streamed,
            provider.parseResponse({ status: 200, contentType, text, complete: true }, streamed),
          );
      }
    }
  });

  it('never throws on a stream whose events hold values of any type', () => {
    const random = seeded(7);
    const events = fixture.streams.flatMap(({ stream }) => stream.match(/^data: \{.*$/gm) ?? []);
    for (let round = 0; round < 150; round += 1) {
      const text = events
        .filter(() => random() < 0.8)
        .map((line) => `data: ${JSON.stringify(mutate(JSON.parse(line.slice(6)), random))}\n\n`)
        .join('');
      readEverything(provider, streamed, parseStream(provider, text, streamed));
    }
  });

  it('never throws on a request of any shape', () => {
    const random = seeded(3);
    for (let round = 0; round < 200; round += 1) {
      const request = { ...streamed, body: mutate(streamed.body, random) as Json };
      if (typeof request.body !== 'object' || request.body === null) continue;
      provider.matches(request);
      readEverything(provider, request, undefined);
    }
  });
}

const USAGE = { stream_options: { include_usage: true } };

function readEverything(provider: Provider, request: ProviderRequest, response: ParsedResponse | undefined): void {
  provider.view(request, response);
  provider.toolResults(request);
  provider.shape(request);
  provider.withText('text', request, response?.body);
  if (!response) return;
  provider.toolCalls(response.body);
  provider.answerText(response.body);
  provider.encodeResponse(response.body, request);
}

/** The same numbers in every run (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const STRANGE = [null, '', 'x', 0, -1, 1e300, true, [], {}, [[null]], { a: { b: [1] } }, ['x', null, {}]];

/** A copy of a JSON value with some values replaced by values of other types. */
export function mutate(value: unknown, random: () => number): unknown {
  if (random() < 0.06) return STRANGE[Math.floor(random() * STRANGE.length)];
  if (Array.isArray(value)) return value.map((item) => mutate(item, random));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mutate(item, random)]));
  return value;
}
