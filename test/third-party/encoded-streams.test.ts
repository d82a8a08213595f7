import Anthropic0 from 'anthropic0';
import OpenAI4 from 'openai4';
import OpenAI5 from 'openai5';
import { providers } from '../../instrumentation/providers/registry';
import { anthropicFixture, chatFixture, responsesFixture } from '../conformance/provider-fixtures';
import type { Json, ProviderFixture } from '../conformance/provider.case';
import { onTheWire, parseStream, requestOf, serveBody } from '../conformance/provider.case';

type Read = (origin: string, request: Json) => Promise<unknown>;

const options = (origin: string) => ({ apiKey: 'none', baseURL: `${origin}/v1`, maxRetries: 0 });

const clients: [string, ProviderFixture, Read][] = [
  [
    'openai 4, chat',
    chatFixture,
    (origin, request) =>
      new OpenAI4(options(origin)).beta.chat.completions.stream(request as never).finalChatCompletion(),
  ],
  [
    'openai 5, chat',
    chatFixture,
    (origin, request) => new OpenAI5(options(origin)).chat.completions.stream(request as never).finalChatCompletion(),
  ],
  [
    'openai 5, responses',
    // Its accumulator takes the last body from `response.completed` alone, of real streams too.
    { ...responsesFixture, streams: responsesFixture.streams.filter(({ name }) => name === 'completed') },
    (origin, request) => new OpenAI5(options(origin)).responses.stream(request as never).finalResponse(),
  ],
  [
    'anthropic 0',
    anthropicFixture,
    (origin, request) =>
      new Anthropic0({ ...options(origin), baseURL: origin }).messages.stream(request as never).finalMessage(),
  ],
];

describe.each(clients)('%s', (_name, fixture, read) => {
  const provider = providers.find(({ id }) => id === fixture.id);

  it.each(fixture.streams.map((item) => [item.name, item] as const))(
    'reads the encoded stream "%s" as the body that it was made from',
    async (_case, { stream, request = {} }) => {
      if (!provider) throw new Error(`no provider ${fixture.id}`);
      const asked = requestOf(fixture, { ...request, stream: true });
      const { body } = parseStream(provider, stream, asked);
      const final = await serveBody(provider.encodeResponse(body, asked), (origin) =>
        read(origin, { ...fixture.request, ...request }),
      );
      expect(onTheWire(final)).toEqual(onTheWire(body));
    },
  );
});
