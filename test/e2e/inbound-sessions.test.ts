import type { ExecutionLog } from '../../instrumentation/schema/execution-log';
import { InstalledPrograms } from './installed-programs';

/**
 * A server that asks a model for each request, and in the same process the customers that call it. The provider is a
 * third server; its answers are numbered.
 */
const SERVER = `
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

let answers = 0;
const listen = (handler) => new Promise((done) => {
  const server = http.createServer(handler).listen(0, '127.0.0.1', () => done({ server, base: 'http://127.0.0.1:' + server.address().port }));
});
const read = async (stream) => { let text = ''; for await (const part of stream) text += part; return text; };
const provider = await listen(async (request, response) => {
  await read(request);
  const content = 'answer ' + answers++;
  response.setHeader('content-type', 'application/json').end(JSON.stringify({ id: 'c', object: 'chat.completion', model: 'm', choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }] }));
});
async function ask(text) {
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: text }] });
  const answer = await fetch(provider.base + '/v1/chat/completions', { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  return (await answer.json()).choices[0].message.content;
}
const agent = await listen(async (request, response) => {
  const text = await read(request);
  await sleep(Math.random() * 20);
  const first = await ask('first of ' + text);
  response.write('[');
  await sleep(1);
  const second = await new Promise((done, fail) => setImmediate(() => ask('second of ' + text).then(done, fail)));
  if (request.url === '/fails') response.destroy(); else response.end(first + second + ']');
});
async function customer(id, { path = '/chat', header, body = {} } = {}) {
  const response = await fetch(agent.base + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(header && { 'x-conversation-id': header }) },
    body: JSON.stringify({ ...body, text: id }),
  });
  return response.text();
}
export async function end() { agent.server.close(); provider.server.close(); }
export { agent, customer, listen, read };
`;

describe('a server whose configuration names the conversation of a request', () => {
  const installed = new InstalledPrograms({ 'server.mjs': SERVER });
  afterAll(() => installed.remove());

  async function logsOf(program: string, session: object): Promise<Map<string, ExecutionLog>> {
    installed.write({
      'reenact.config.json': JSON.stringify({ session }),
      'app.mjs': `import { customer, end, agent, listen } from './server.mjs';\n${program}\nawait end();`,
    });
    const ended = await installed.record(['app.mjs']);
    expect(ended).toMatchObject({ stderr: '', code: 0 });
    return new Map((await installed.logs()).map((log) => [log.sessionId, log]));
  }

  const asked = (log: ExecutionLog | undefined): unknown[] =>
    (log?.turns ?? [])
      .filter(({ type }) => type === 'llm_call')
      .map(({ request }) => (request['messages'] as { content: string }[])[0]?.content);

  it('keeps 50 conversations at a time apart, by a header', async () => {
    const logs = await logsOf(
      `await Promise.all(Array.from({ length: 50 }, (_, i) => customer('' + i, { header: 'c' + i })));`,
      { header: 'X-Conversation-Id' },
    );
    for (let i = 0; i < 50; i++)
      expect(asked(logs.get(`c${i}`))).toEqual([`first of {"text":"${i}"}`, `second of {"text":"${i}"}`]);
  });

  it('finds the name in the body', async () => {
    const logs = await logsOf(
      `await Promise.all(['a', 'b'].map((id) => customer(id, { body: { meta: { id: 'n-' + id } } })));`,
      { body: '/meta/id' },
    );
    expect(asked(logs.get('n-a')).map(String)).toEqual([
      expect.stringContaining('first of {"meta":{"id":"n-a"}'),
      expect.stringContaining('second of {"meta":{"id":"n-a"}'),
    ]);
    expect(asked(logs.get('n-b'))).toHaveLength(2);
  });

  it('puts a later request of a conversation into the same log', async () => {
    const logs = await logsOf(`await customer('1', { header: 'c' }); await customer('2', { header: 'c' });`, {
      header: 'x-conversation-id',
    });
    expect(asked(logs.get('c'))).toEqual([
      'first of {"text":"1"}',
      'second of {"text":"1"}',
      'first of {"text":"2"}',
      'second of {"text":"2"}',
    ]);
  });

  it('leaves requests that name none to the session of the process', async () => {
    const logs = await logsOf(`await customer('1'); await customer('2', { header: 'c' });`, {
      header: 'x-conversation-id',
    });
    const [own] = [...logs.values()].filter(({ sessionId }) => sessionId !== 'c');
    expect(asked(own)).toEqual(['first of {"text":"1"}', 'second of {"text":"1"}']);
    expect(asked(logs.get('c'))).toHaveLength(2);
  });

  it('marks a conversation as failed that was answered with a 5xx', async () => {
    const logs = await logsOf(
      `const { tool } = await import('reenact');
       const look = tool('look', async () => 1);
       const crashing = await listen(async (request, response) => { await look(); response.writeHead(503).end(); });
       await fetch(crashing.base + '/crash', { headers: { 'x-conversation-id': 'c' } }).then((response) => response.text());
       crashing.server.close();`,
      { header: 'x-conversation-id' },
    );
    expect(logs.get('c')).toMatchObject({ metadata: { failure: 'HTTP 503' } });
  });

  it('serves a request whose object is derived from, handed on, or waits for leave to send its body', async () => {
    const plain = `
      const { once } = await import('node:events');
      const inner = http.createServer((request, response) => response.end('handed on'));
      const outer = await listen((request, response) => {
        if (request.url === '/on') return inner.emit('request', request, response);
        Object.create(request).emit('custom');
        Object.create(response).emit('custom');
        response.end('derived');
      });
      outer.server.on('checkContinue', async (request, response) => {
        response.writeContinue();
        await read(request);
        outer.server.emit('request', request, response);
      });
      for (const [path, headers] of [['/on', {}], ['/derived', {}], ['/continue', { expect: '100-continue' }]]) {
        const { port } = outer.server.address();
        const sent = http.request({ port, path, method: 'POST', headers: { 'x-conversation-id': path, ...headers } });
        if (headers.expect) sent.flushHeaders(), sent.on('continue', () => sent.end('body'));
        else sent.end();
        const [answer] = await once(sent, 'response');
        console.log(await read(answer));
      }
      outer.server.close();`;
    installed.write({
      'reenact.config.json': JSON.stringify({ session: { header: 'x-conversation-id' } }),
      'app.mjs': `import { end, listen, read } from './server.mjs';\nimport http from 'node:http';\n${plain}\nawait end();`,
    });
    const ended = await installed.record(['app.mjs']);
    expect(ended).toMatchObject({ stdout: 'handed on\nderived\nderived\n', stderr: '' });
    const logs = await installed.logs();
    const requests = logs.flatMap(({ sessionId, observations = [] }) => observations.map(() => sessionId));
    expect(requests.sort()).toEqual(['/continue', '/derived', '/on']);
  });
});
