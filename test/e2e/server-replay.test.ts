import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { InstalledPrograms } from './installed-programs';

/** A server that asks a model twice for each question; prompts hold the time and randomness. */
const SERVER = `
import http from 'node:http';
async function ask(text) {
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: text }] });
  const answer = await fetch(process.env.BASE + '/v1/chat/completions', { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  return (await answer.json()).choices[0].message.content;
}
const server = http.createServer(async (request, response) => {
  let text = '';
  for await (const part of request) text += part;
  const { question } = JSON.parse(text);
  const first = await ask(question + Date.now());
  response.write(first);
  response.end(await ask(question + Math.random()));
  console.log('answered', request.method, request.url, question, request.headers['x-conversation-id'], request.socket.remoteAddress);
});
server.listen(0, '127.0.0.1', () => console.log('port', server.address().port));
process.on('SIGTERM', () => { console.log('bye'); server.close(); server.closeAllConnections(); });
`;

/** Answers every call with another number. */
function startProvider(): Promise<{ base: string; close(): void }> {
  let n = 0;
  const server = http.createServer((request, response) => {
    request.resume().on('end', () => {
      const choices = [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: `answer ${n++}` } }];
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ id: 'c', object: 'chat.completion', model: 'm', choices }));
    });
  });
  return new Promise((done) =>
    server.listen(0, '127.0.0.1', () =>
      done({
        base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
        close: () => {
          server.closeAllConnections();
          server.close();
        },
      }),
    ),
  );
}

describe('a recorded server', () => {
  const installed = new InstalledPrograms({
    'server.mjs': SERVER,
    'reenact.config.json': JSON.stringify({ session: { header: 'x-conversation-id' } }),
  });
  const answers: string[] = [];
  let [recorded, base] = ['', ''];

  beforeAll(async () => {
    const provider = await startProvider();
    const ended = await installed.record(['server.mjs'], {
      env: { BASE: provider.base },
      onOutput: (child, text) => {
        const port = /^port (\d+)$/m.exec(text)?.[1];
        if (port === undefined || answers.length > 0) return;
        answers.push('');
        void customers(port).then(() => child.kill('SIGTERM'));
      },
    });
    provider.close();
    base = provider.base;
    recorded = ended.stdout;
  }, 60_000);
  afterAll(() => installed.remove());

  async function customers(port: string): Promise<void> {
    const post = async (id: string, question: string): Promise<void> => {
      const headers = { 'x-conversation-id': id };
      const body = JSON.stringify({ question });
      const answer = await fetch(`http://127.0.0.1:${port}/chat?q=1`, { method: 'POST', headers, body });
      answers.push(await answer.text());
    };
    await Promise.all([post('a', 'a1'), post('b', 'b1'), post('c', 'c1')]);
    await post('a', 'a2');
  }

  it('answers its recorded requests again, in their order, with nothing listening', async () => {
    expect(recorded.trim().split('\n')).toHaveLength(6);
    const replayed = await installed.replay([], { env: { BASE: base } });
    // Four requests and two calls of each.
    expect(replayed.document).toMatchObject({ total: 12, exact: 12, live: 0, unused: 0, blocked: 0, faithful: true });
    expect(replayed).toMatchObject({ stdout: recorded, code: 0 });
  });

  it('is replayed for one conversation, with all of its requests', async () => {
    const replayed = await installed.replay([], { ref: 'a', env: { BASE: base } });
    expect(replayed.document).toMatchObject({ total: 6, exact: 6, unused: 0, faithful: true });
    expect(replayed.stdout.match(/^answered.*/gm)).toEqual([
      'answered POST /chat?q=1 a1 a 127.0.0.1',
      'answered POST /chat?q=1 a2 a 127.0.0.1',
    ]);
  });

  it('is not faithful when it answers otherwise', async () => {
    installed.write({ 'server.mjs': SERVER.replace('response.write(first)', "response.write(first + '!')") });
    const replayed = await installed.replay([], { ref: 'b', env: { BASE: base } });
    expect(replayed.document).toMatchObject({ exact: 3, faithful: false });
    expect(replayed.document.divergences[0]).toMatchObject({ name: 'answer to inbound POST /chat', path: '/bytes' });
  });
});
