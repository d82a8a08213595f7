import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { InstalledPrograms } from './installed-programs';

/** Answers that no HTTP client accepts, and one that ends early. */
const ANSWERS: Record<string, string> = {
  '/not-http': '<html>hello</html>\r\n',
  '/long-header': `HTTP/1.1 200 OK\r\nx: ${'x'.repeat(64 * 1024)}\r\ncontent-length: 2\r\n\r\nok`,
  '/bad-chunk': 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\nno number\r\n',
  '/short': 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort',
};
const PROGRAM = `
import http from 'node:http';
for (const path of ${JSON.stringify(Object.keys(ANSWERS))}) {
  try {
    console.log('fetch', path, await (await fetch(process.env.BASE + path)).text());
  } catch (error) {
    console.log('fetch', path, error.name, error.message, error.cause?.name, error.cause?.code, error.cause?.message);
  }
  await new Promise((done) => {
    const tell = (where) => (error) => done(console.log('http', path, where, error.code, error.message));
    http.get(process.env.BASE + path, (answer) => {
      answer.on('error', tell('answer')).on('end', () => done(console.log('http', path, answer.complete))).resume();
    }).on('error', tell('request'));
  });
}
`;

describe('an answer that is no HTTP', () => {
  const installed = new InstalledPrograms({ 'agent.mjs': PROGRAM });
  let server: Server;
  beforeAll(async () => {
    server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', (data) => socket.end(ANSWERS[/^GET (\S+)/.exec(data.toString())?.[1] ?? ''] ?? ''));
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  });
  afterAll(() => {
    server.close();
    installed.remove();
  });

  it('is the same error to a program recorded and replayed', async () => {
    const env = { BASE: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
    const plain = await installed.run(['agent.mjs'], { env });
    const recorded = await installed.record(['agent.mjs'], { env });
    const replayed = await installed.replay([], { env });
    expect(recorded.stdout).toBe(plain.stdout);
    expect(replayed.stdout).toBe(plain.stdout);
    expect(replayed.document).toMatchObject({ total: 8, exact: 8, faithful: true });
  });
});
