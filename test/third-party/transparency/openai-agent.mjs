// Prints what a program sees of one call of the OpenAI client: ids, counts, errors. `sdk` is replaced by a version.
/* global AbortController */
import OpenAI from 'sdk';

const client = new OpenAI({ apiKey: 'k', baseURL: `${process.env.PROVIDER}/v1`, maxRetries: 2 });
const completions = client.chat.completions;
// Version 4 keeps the helpers under beta.
const helpers = completions.stream ? completions : client.beta.chat.completions;
const ask = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };
const parameters = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const tools = [{ type: 'function', function: { name: 'get_weather', parameters } }];
const schema = { type: 'object', properties: { x: { type: 'string' } }, required: ['x'], additionalProperties: false };
const response_format = { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } };

async function read(stream) {
  const pieces = [];
  for await (const piece of stream) pieces.push(piece);
  return pieces;
}

const text = (chunks) => chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('|');
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const scenarios = {
  create: async () => completions.create(ask),
  withResponse: async () => {
    const { data, response, request_id } = await completions.create(ask).withResponse();
    return [data.id, response.status, request_id, response.headers.get('x-request-id'), response.bodyUsed];
  },
  asResponse: async () => {
    const response = await completions.create(ask).asResponse();
    return [response.status, response.bodyUsed, await response.text(), response.bodyUsed];
  },
  parse: async () => (await helpers.parse({ ...ask, response_format })).choices[0].message,
  stream: async () => {
    const chunks = await read(await completions.create({ ...ask, stream: true }));
    return [chunks.length, text(chunks)];
  },
  streamWithResponse: async () => {
    const { data, response } = await completions.create({ ...ask, stream: true }).withResponse();
    return [response.status, (await read(data)).length];
  },
  streamShape: async () => {
    const stream = await completions.create({ ...ask, stream: true });
    const shape = [
      typeof stream.tee,
      typeof stream.toReadableStream,
      typeof stream.controller,
      stream.constructor.name,
    ];
    const [left, right] = stream.tee();
    return [shape, (await read(left)).length, (await read(right.toReadableStream())).length];
  },
  break: async () => {
    let count = 0;
    for await (const chunk of await completions.create({ ...ask, model: 'endless', stream: true })) {
      count += 1;
      if (chunk.choices[0]?.delta.content) break;
    }
    return count;
  },
  abort: async () => {
    const controller = new AbortController();
    const stream = await completions.create({ ...ask, model: 'endless', stream: true }, { signal: controller.signal });
    setTimeout(() => controller.abort(), 300);
    return (await read(stream)).length;
  },
  abortBefore: async () => {
    // The aborted call is never sent; a recording without any call cannot be replayed.
    await completions.create(ask);
    const controller = new AbortController();
    const call = completions.create({ ...ask, model: 'endless', stream: true }, { signal: controller.signal });
    controller.abort();
    return (await call).constructor.name;
  },
  dropped: async () => read(await completions.create({ ...ask, model: 'dropped', stream: true })),
  toolStream: async () => {
    const chunks = await read(await completions.create({ ...ask, tools, stream: true }));
    return [chunks.length, chunks.map((chunk) => chunk.choices[0]?.delta.tool_calls?.[0]?.function.arguments ?? '')];
  },
  toolCall: async () => (await completions.create({ ...ask, tools })).choices[0].message.tool_calls,
  two: async () => (await completions.create({ ...ask, n: 2 })).choices.map((choice) => choice.message.content),
  twoStream: async () => {
    const texts = ['', ''];
    for await (const { choices } of await completions.create({ ...ask, n: 2, stream: true }))
      for (const { index, delta } of choices) texts[index] += delta.content ?? '';
    return texts;
  },
  helper: async () => {
    const seen = [];
    const stream = helpers.stream(ask);
    stream.on('content', (delta) => seen.push(delta));
    return [await stream.finalContent(), seen];
  },
  neverRead: async () => (await completions.create({ ...ask, stream: true })).constructor.name,
  retries: async () => completions.create({ ...ask, model: 'busy' }),
  retriesStream: async () => completions.create({ ...ask, model: 'busy', stream: true }),
  responses: async () => client.responses.create({ model: 'm', input: 'hi' }),
  responsesStream: async () => {
    const events = await read(await client.responses.create({ model: 'm', input: 'hi', stream: true }));
    return events.map((event) => event.type);
  },
  fields: async () => {
    const answer = await completions.create({ ...ask, seed: 7, logit_bias: { 50256: -100 }, user: 'u', tools });
    return [answer.system_fingerprint, answer._request_id];
  },
  parallel: async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => completions.create(ask)));
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
