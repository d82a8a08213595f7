import type Anthropic from '@anthropic-ai/sdk';
import { installTaps } from '../../instrumentation/taps/registry';
import { CollectedExchanges } from '../instrumentation/taps/collected-exchanges';
import { ProviderStub } from './provider-stub';

let provider: ProviderStub;

beforeAll(async () => {
  provider = await ProviderStub.listen();
});
afterAll(() => provider.close());

const ask = (model: string): { model: string; max_tokens: number; messages: { role: 'user'; content: string }[] } => ({
  model,
  max_tokens: 10,
  messages: [{ role: 'user', content: 'hi' }],
});

type Scenario = (client: Anthropic) => Promise<unknown>;

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  create: (client) => client.messages.create(ask('m')),
  withResponse: async (client) => {
    const { data, response } = await client.messages.create(ask('m')).withResponse();
    return [data, response.status, response.headers.get('request-id')];
  },
  asResponse: async (client) => (await client.messages.create(ask('m')).asResponse()).text(),
  stream: async (client) => collect(await client.messages.create({ ...ask('m'), stream: true })),
  'stream helper': (client) => client.messages.stream(ask('m')).finalMessage(),
  abort: async (client) => {
    const stream = await client.messages.create({ ...ask('endless'), stream: true });
    return collect(stream, () => stream.controller.abort());
  },
  dropped: async (client) => collect(await client.messages.create({ ...ask('dropped'), stream: true })),
  retries: (client) => client.messages.create(ask('busy')),
};

const EXPECTED: Readonly<Record<string, readonly string[]>> = {
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

describe.each(['@anthropic-ai/sdk', 'anthropic0'])('%s', (version) => {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- the version is a parameter of the test
  const { Anthropic: Client } = require(version) as { Anthropic: new (options: object) => Anthropic };
  const make = (): Anthropic => new Client({ apiKey: 'k', baseURL: provider.origin, maxRetries: 2 });

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
