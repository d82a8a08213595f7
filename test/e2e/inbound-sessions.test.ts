import { spawn } from 'node:child_process';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionLog } from '../../instrumentation/schema/execution-log';
import { NODES } from './hook-programs';
import { InstalledPrograms } from './installed-programs';

/** Asks upstream once and tells the answer in two pieces; `/fail` answers 500; `/quit` ends the server. */
const SERVER = `
const http = require('node:http');
const { AsyncLocalStorage } = require('node:async_hooks');
const { setTimeout: wait } = require('node:timers/promises');
const own = new AsyncLocalStorage();
const ask = async (what) => (await fetch(process.env.UPSTREAM + what)).text();
const server = http.createServer((req, res) => {
  if (req.url === '/quit') { res.end(); server.close(); server.closeAllConnections(); return; }
  const pieces = [];
  req.on('data', (piece) => pieces.push(piece));
  req.on('end', () => own.run({ url: req.url }, async () => {
    await wait(Math.random() * 20);
    const answer = await ask(own.getStore().url);
    res.statusCode = req.url.startsWith('/fail') ? 500 : 200;
    res.write(answer + ' ');
    await new Promise((done) => setImmediate(done));
    res.end(String(Buffer.concat(pieces).length));
    if (req.url.startsWith('/late')) setTimeout(() => ask(req.url + '-after'), 30);
  }));
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
`;

interface Sent {
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
}

const upstream = createServer((incoming, answer) => answer.end(`for ${incoming.url}`));

function send(port: number, { path, headers = {}, body }: Sent, agent?: Agent): Promise<string> {
  return new Promise((done, fail) => {
    const options = { port, path, host: '127.0.0.1', method: body === undefined ? 'GET' : 'POST', headers };
    const outgoing = request({ ...options, ...(agent && { agent }) }, (answer) => {
      let text = '';
      answer.on('data', (piece: Buffer) => (text += piece.toString())).on('end', () => done(text));
    });
    outgoing.on('error', fail).end(body);
  });
}

interface Inbound {
  readonly inbound?: Readonly<Record<string, unknown>> & { headers: [string, string][] };
}

/** What the sessions of a log keep of the requests that they answered. */
const inboundOf = (log: ExecutionLog | undefined) =>
  ((log?.recording?.sessions ?? []) as readonly Inbound[]).flatMap(({ inbound }) => inbound ?? []);

/** The paths asked of upstream in a session, or outside of every one. */
const asked = (log: ExecutionLog | undefined, where: 'session' | 'prelude' = 'session'): string[] =>
  ((log?.recording?.calls ?? []) as unknown as { sessionId: string; request: { url: string } }[])
    .filter((call) => (call.sessionId === log?.sessionId) === (where === 'session'))
    .map((call) => new URL(call.request.url).pathname);

describe.each(NODES)('sessions of inbound requests on %s', (node) => {
  const programs = new InstalledPrograms({ 'server.cjs': SERVER });
  beforeAll(() => new Promise<void>((done) => void upstream.listen(0, '127.0.0.1', done)));
  afterAll(() => {
    upstream.close();
    programs.remove();
  });

  async function served(session: object, use: (port: number) => Promise<unknown>): Promise<Map<string, ExecutionLog>> {
    programs.write({ 'reenact.config.json': JSON.stringify({ session }) });
    const { port } = upstream.address() as AddressInfo;
    const child = spawn(node, ['--require', 'reenact/register', 'server.cjs'], {
      cwd: programs.folder,
      env: { PATH: process.env['PATH'], UPSTREAM: `http://127.0.0.1:${port}` },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = new Promise((done) => child.on('close', done));
    const line = await new Promise<string>((done) => child.stdout.once('data', (piece: Buffer) => done(String(piece))));
    try {
      await use(Number(line));
    } finally {
      await send(Number(line), { path: '/quit' }).catch(() => child.kill());
      await ended;
    }
    const logs = await programs.logs();
    return new Map(logs.map((log) => [log.sessionId, log]));
  }

  test('keeps 50 conversations apart that run at the same time over kept connections', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 10 });
    const ids = Array.from({ length: 50 }, (_, i) => `c${i}`);
    const logs = await served({ header: 'X-Conversation-Id' }, async (port) => {
      const answers = await Promise.all(
        ids.map((id) => send(port, { path: `/${id}`, headers: { 'x-conversation-id': id }, body: 'hello' }, agent)),
      );
      expect(answers).toEqual(ids.map((id) => `for /${id} 5`));
    });
    agent.destroy();
    expect([...logs.keys()].sort()).toEqual([...ids].sort());
    for (const id of ids) expect(asked(logs.get(id))).toEqual([`/${id}`]);
  });

  test('continues a conversation with its second request and with work after the answer', async () => {
    const headers = { 'x-conversation-id': 'one' };
    const logs = await served({ header: 'x-conversation-id' }, async (port) => {
      await send(port, { path: '/late', headers });
      await new Promise((done) => setTimeout(done, 150));
      await send(port, { path: '/second', headers });
    });
    expect([...logs.keys()]).toEqual(['one']);
    expect(asked(logs.get('one'))).toEqual(['/late', '/late-after', '/second']);
    expect(inboundOf(logs.get('one')).map(({ url }) => url)).toEqual(['/late', '/second']);
  });

  test('keeps the request without its credentials, and marks an answer of 500 as a failure', async () => {
    const headers = { 'x-conversation-id': 'bad', authorization: 'Bearer very-secret', 'content-type': 'text/plain' };
    const logs = await served({ header: 'x-conversation-id' }, (port) =>
      send(port, { path: '/fail?q=1', headers, body: 'grüße' }),
    );
    const [inbound] = inboundOf(logs.get('bad'));
    expect(inbound).toMatchObject({ method: 'POST', url: '/fail?q=1', body: 'grüße', bodyBytes: 7, status: 500 });
    expect(inbound?.headers).toContainEqual(['content-type', 'text/plain']);
    expect(JSON.stringify(logs.get('bad'))).not.toContain('very-secret');
    expect(logs.get('bad')?.metadata).toMatchObject({ failure: 'HTTP 500' });
  });

  test('finds the id in the JSON body that the header does not give', async () => {
    const headers = { 'content-type': 'application/json' };
    const body = (value: unknown): string => JSON.stringify({ chat: { 'a/b': value } });
    const logs = await served({ header: 'x-id', body: '/chat/a~1b' }, async (port) => {
      await send(port, { path: '/by-body', headers, body: body('from body') });
      await send(port, { path: '/by-number', headers, body: body(17) });
      await send(port, { path: '/by-header', headers: { ...headers, 'x-id': 'h' }, body: body('ignored') });
    });
    expect([...logs.keys()].sort()).toEqual(['17', 'from body', 'h']);
    expect(inboundOf(logs.get('from body'))[0]).toMatchObject({ body: '{"chat":{"a/b":"from body"}}', status: 200 });
  });

  test('leaves requests without an id, with a broken body or with a large one to the process', async () => {
    const headers = { 'content-type': 'application/json' };
    const large = Buffer.alloc(2 * 1024 * 1024, '"');
    const logs = await served({ header: 'x-id', body: '/id' }, async (port) => {
      expect(await send(port, { path: '/none' })).toBe('for /none 0');
      expect(await send(port, { path: '/broken', headers, body: '{"id":' })).toBe('for /broken 6');
      expect(await send(port, { path: '/large', headers, body: large })).toBe(`for /large ${large.length}`);
      await send(port, { path: '/named', headers: { 'x-id': 'named' }, body: large });
    });
    expect([...logs.keys()]).toEqual(['named']);
    const [inbound] = inboundOf(logs.get('named'));
    expect(inbound).toMatchObject({ url: '/named', bodyBytes: large.length });
    expect(inbound).not.toHaveProperty('body');
    expect(asked(logs.get('named'))).toEqual(['/named']);
    expect(asked(logs.get('named'), 'prelude')).toEqual(['/none', '/broken', '/large']);
  });
});
