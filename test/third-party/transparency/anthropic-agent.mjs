// Prints what a program sees of one call of the Anthropic client: ids, counts, errors. `sdk` is replaced by a version.
/* global AbortController */
import Anthropic from 'sdk';

const client = new Anthropic({ apiKey: 'k', baseURL: process.env.PROVIDER, maxRetries: 2 });
const { messages } = client;
const ask = { model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'hi' }] };
const tools = [{ name: 'get_weather', input_schema: { type: 'object', properties: { city: { type: 'string' } } } }];

async function read(stream) {
  const pieces = [];
  for await (const piece of stream) pieces.push(piece);
  return pieces;
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const scenarios = {
  create: async () => messages.create(ask),
  withResponse: async () => {
    const { data, response, request_id } = await messages.create(ask).withResponse();
    return [data.id, response.status, request_id, response.headers.get('request-id'), response.bodyUsed];
  },
  asResponse: async () => {
    const response = await messages.create(ask).asResponse();
    return [response.status, response.bodyUsed, await response.text(), response.bodyUsed];
  },
  stream: async () => (await read(await messages.create({ ...ask, stream: true }))).map((event) => event.type),
  streamWithResponse: async () => {
    const { data, response } = await messages.create({ ...ask, stream: true }).withResponse();
    return [response.status, (await read(data)).length];
  },
  streamShape: async () => {
    const stream = await messages.create({ ...ask, stream: true });
    const shape = [
      typeof stream.tee,
      typeof stream.toReadableStream,
      typeof stream.controller,
      stream.constructor.name,
    ];
    const [left, right] = stream.tee();
    return [shape, (await read(left)).length, (await read(right)).length];
  },
  helper: async () => {
    const seen = [];
    const stream = messages.stream(ask);
    stream.on('text', (delta) => seen.push(delta));
    return [await stream.finalText(), seen];
  },
  toolCall: async () => (await messages.create({ ...ask, tools })).content,
  toolStream: async () => (await messages.stream({ ...ask, tools }).finalMessage()).content,
  break: async () => {
    let count = 0;
    for await (const event of await messages.create({ ...ask, model: 'endless', stream: true })) {
      count += 1;
      if (event.type === 'content_block_delta') break;
    }
    return count;
  },
  abort: async () => {
    const controller = new AbortController();
    const stream = await messages.create({ ...ask, model: 'endless', stream: true }, { signal: controller.signal });
    setTimeout(() => controller.abort(), 300);
    return (await read(stream)).length;
  },
  abortHelper: async () => {
    const stream = messages.stream({ ...ask, model: 'endless' });
    setTimeout(() => stream.abort(), 300);
    return stream.finalMessage();
  },
  dropped: async () => read(await messages.create({ ...ask, model: 'dropped', stream: true })),
  neverRead: async () => (await messages.create({ ...ask, stream: true })).constructor.name,
  retries: async () => messages.create({ ...ask, model: 'busy' }),
  retriesStream: async () => messages.create({ ...ask, model: 'busy', stream: true }),
  parallel: async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => messages.create(ask)));
    return answers.map(({ id }) => id);
  },
};

process.on('unhandledRejection', (reason) => console.log('UNHANDLED', String(reason)));

const name = process.argv[2];
if (name === undefined) {
  console.log(Object.keys(scenarios).join(' '));
} else {
  try {
    console.log(JSON.stringify(await scenarios[name]()));
  } catch (error) {
    console.log(error.constructor.name, error.name, error.message, error.status, error.code, error.cause?.code);
  }
  await pause(20);
  // A stream that goes silent would keep the process for ever.
  if (name === 'neverRead') process.exit(0);
}
