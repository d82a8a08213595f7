// Asks what real programs asked, through the real SDKs, and prints what the SDK makes of the real answers.
import { readFileSync } from 'node:fs';
import OpenAI from 'openai';
import Anthropic from '@anthropic-ai/sdk';

const base = process.env.BASE;
const options = (n) => ({ apiKey: 'k', maxRetries: 0, defaultHeaders: { 'x-exchange': String(n) } });

async function ask({ n, path, body }) {
  if (path.endsWith('/messages')) {
    const client = new Anthropic({ ...options(n), baseURL: base });
    return body.stream ? collect(await client.messages.create(body)) : client.messages.create(body);
  }
  const client = new OpenAI({ ...options(n), baseURL: `${base}/v1` });
  const api = path.endsWith('/responses') ? client.responses : client.chat.completions;
  return body.stream ? collect(await api.create(body)) : api.create(body);
}

async function collect(stream) {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
}

for (const exchange of JSON.parse(readFileSync(process.argv[2]))) {
  try {
    console.log(exchange.n, JSON.stringify(await ask(exchange)));
  } catch (error) {
    console.log(exchange.n, error.constructor.name, error.status, error.message);
  }
}
