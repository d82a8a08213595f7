import type OpenAI from 'openai';
import { installTaps } from '../../instrumentation/taps/registry';
import { CollectedExchanges } from '../instrumentation/taps/collected-exchanges';
import { ProviderStub } from './provider-stub';

let provider: ProviderStub;

beforeAll(async () => {
  provider = await ProviderStub.listen();
});
afterAll(() => provider.close());

const messages = [{ role: 'user' as const, content: 'hi' }];

type Scenario = (client: OpenAI) => Promise<unknown>;

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  create: (client) => client.chat.completions.create({ model: 'm', messages }),
  withResponse: async (client) => {
    const { data, response } = await client.chat.completions.create({ model: 'm', messages }).withResponse();
    return [data, response.status, response.headers.get('x-request-id')];
  },
  asResponse: async (client) => {
    const response = await client.chat.completions.create({ model: 'm', messages }).asResponse();
    return [response.status, await response.text()];
  },
  stream: async (client) => collect(await client.chat.completions.create({ model: 'm', messages, stream: true })),
  'stream withResponse': async (client) => {
    const made = client.chat.completions.create({ model: 'm', messages, stream: true });
    const { data, response } = await made.withResponse();
    return [response.status, await collect(data)];
  },
  'stream tee': async (client) => {
    const [left, right] = (await client.chat.completions.create({ model: 'm', messages, stream: true })).tee();
    return Promise.all([collect(left), collect(right)]);
  },
  'stream helper': async (client) => {
    // Version 4 keeps it under beta.
    const at = (client.chat.completions as { stream?: unknown }).stream
      ? client.chat.completions
      : (client as unknown as { beta: { chat: { completions: OpenAI['chat']['completions'] } } }).beta.chat.completions;
    return at.stream({ model: 'm', messages }).finalContent();
  },
  break: async (client) => {
    for await (const chunk of await client.chat.completions.create({ model: 'endless', messages, stream: true }))
      if (chunk.choices[0]?.delta.content) return chunk.choices[0].delta.content;
    return undefined;
  },
  abort: async (client) => {
    const stream = await client.chat.completions.create({ model: 'endless', messages, stream: true });
    return collect(stream, () => stream.controller.abort());
  },
  dropped: async (client) =>
    collect(await client.chat.completions.create({ model: 'dropped', messages, stream: true })),
  retries: (client) => client.chat.completions.create({ model: 'busy', messages }),
};

const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  break: ['aborted'],
  abort: ['aborted'],
  dropped: ['cut'],
  retries: ['ok', 'ok', 'ok'],
};

/** `first` is called with the first piece; what still comes after an abort depends on the moment and does not count. */
async function collect(stream: AsyncIterable<unknown>, first?: () => void): Promise<unknown[]> {
  const pieces: unknown[] = [];
  for await (const piece of stream) {
    if (pieces.push(piece) === 1) first?.();
  }
  return first === undefined ? pieces : pieces.slice(0, 1);
}

async function outcome(run: () => Promise<unknown>): Promise<unknown> {
  try {
    return { value: JSON.parse(JSON.stringify(await run())) as unknown };
  } catch (error) {
    const { name, message, constructor } = error as Error;
    return { name, message, class: constructor.name };
  }
}

describe.each(['openai', 'openai5', 'openai4'])('%s', (version) => {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- the version is a parameter of the test
  const { OpenAI: Client } = require(version) as { OpenAI: new (options: object) => OpenAI };
  const make = (): OpenAI => new Client({ apiKey: 'k', baseURL: `${provider.origin}/v1`, maxRetries: 2 });

  test.each(Object.keys(SCENARIOS))('%s gives the same with and without the taps', async (name) => {
    const scenario = SCENARIOS[name] as Scenario;
    const plain = await outcome(() => scenario(make()));
    const seen = new CollectedExchanges();
    const undo = installTaps(seen, seen.onFailure);
    try {
      expect(await outcome(() => scenario(make()))).toEqual(plain);
      await new Promise((resolve) => setTimeout(resolve, 30));
    } finally {
      undo();
    }
    expect(seen.failures).toEqual([]);
    expect(seen.outcomes).toEqual(EXPECTED[name] ?? ['ok']);
  });
});
