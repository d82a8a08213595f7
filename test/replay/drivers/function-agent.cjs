// One agent over both SDK families, run by a recorded process and, unchanged, by the tests of replayed functions.
const { randomUUID } = require('node:crypto');
const http = require('node:http');

/** A plain GET by `node:http`, with the agent's kept connections. */
const get = (url) =>
  new Promise((resolve, reject) => {
    http
      .get(url, (response) => {
        let text = '';
        response.on('data', (piece) => (text += piece)).on('end', () => resolve(text));
      })
      .on('error', reject);
  });

async function ask(sdk, { client, messages, stream }) {
  if (sdk === 'openai') {
    const body = { model: 'm', messages };
    if (!stream) return (await client.chat.completions.create(body)).choices[0].message.content;
    let text = '';
    for await (const chunk of await client.chat.completions.create({ ...body, stream: true }))
      text += chunk.choices[0]?.delta?.content ?? '';
    return text;
  }
  const body = { model: 'm', max_tokens: 10, messages };
  if (!stream) return (await client.messages.create(body)).content[0].text;
  let text = '';
  for await (const event of await client.messages.create({ ...body, stream: true }))
    if (event.type === 'content_block_delta') text += event.delta.text;
  return text;
}

/** @param api tool, session, decision and outcome of 'reenact'; `ran` is told of every tool that really runs. */
module.exports = function makeAgent(api, { sdk, Client, base, stream, ran = () => undefined }) {
  const getOrder = api.tool('get_order', async ({ id }) => {
    ran('get_order');
    return { id, status: await get(`${base}/order`), at: Date.now() };
  });
  const priceOf = api.tool('price_of', (item) => {
    ran('price_of');
    return { item, price: Math.random() };
  });
  const converse = async () => {
    const client = new Client({ baseURL: sdk === 'openai' ? `${base}/v1` : base, maxRetries: 0 });
    const messages = [
      { role: 'user', content: `it is ${new Date().toISOString()}, ${randomUUID()}, ${Math.random()}` },
    ];
    const said = [await ask(sdk, { client, messages, stream })];
    const [order, price] = await Promise.all([getOrder({ id: said[0] }), priceOf('book')]);
    await new Promise((resolve) => setTimeout(resolve, 150));
    messages.push({ role: 'assistant', content: said[0] }, { role: 'user', content: JSON.stringify({ order, price }) });
    said.push(await ask(sdk, { client, messages, stream }));
    said.push(await get(`${base}/plain`), await (await globalThis.fetch(`${base}/fetched`)).text());
    api.decision('route', { to: process.env.ROUTE ?? 'billing' });
    api.outcome(process.env.OUTCOME ?? 'resolved', { score: 1 });
    return JSON.stringify({ said, order, price, at: globalThis.performance.now() > 0, now: Date.now() });
  };
  return { converse, inSession: () => api.session({ id: 'customer-7' }, converse) };
};
