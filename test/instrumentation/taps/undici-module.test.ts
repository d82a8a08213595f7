import * as undici from 'undici';
import { tapUndiciModule } from '../../../instrumentation/taps/undici';
import { body, CollectedExchanges } from './collected-exchanges';
import { closedPort, StubServer } from './stub-server';

let server: StubServer;
let seen: CollectedExchanges;
let undo: () => void;

beforeAll(async () => {
  server = await StubServer.listen();
});
afterAll(async () => {
  await undici.getGlobalDispatcher().destroy();
  await server.close();
});
beforeEach(() => {
  seen = new CollectedExchanges();
  undo = tapUndiciModule(undici, seen, seen.onFailure);
});
afterEach(() => {
  undo();
  expect(seen.failures).toEqual([]);
});

const POST = { method: 'POST', body: '{"a":1}' } as const;

test.each<[string, () => Promise<string>]>([
  ['fetch', async () => (await undici.fetch(`${server.origin}/echo`, POST)).text()],
  ['request', async () => (await undici.request(`${server.origin}/echo`, POST)).body.text()],
])('%s of a loaded undici is recorded once', async (_name, call) => {
  expect(await call()).toContain('"method":"POST"');
  expect(body(seen.only.requestBody)).toBe('{"a":1}');
  expect(body(seen.only.chunks)).toContain('"method":"POST"');
  expect(seen.only.head?.headers).toContainEqual(['X-Twice', 'a']);
  expect(seen.outcomes).toEqual(['ok']);
});

test.each(['Client', 'Pool', 'Agent'] as const)('a %s of the program is seen once per attempt', async (name) => {
  const dispatcher = name === 'Agent' ? new undici.Agent() : new undici[name](server.origin);
  const answer = await dispatcher.request({ origin: server.origin, path: '/echo', query: { q: 'a b' }, ...POST });
  await answer.body.text();
  expect(seen.only.url).toBe(`${server.origin}/echo?q=a+b`.replace('+', '%20'));
  expect(seen.outcomes).toEqual(['ok']);
  await dispatcher.close();
});

test('each hop of the redirect interceptor and each try of the retry interceptor is an exchange', async () => {
  const hops = new undici.Agent().compose(undici.interceptors.redirect({ maxRedirections: 2 }));
  await (await undici.request(`${server.origin}/redirect`, { ...POST, dispatcher: hops })).body.text();
  expect(seen.all.map(({ head }) => head?.status)).toEqual([307, 200]);
  const retrying = new undici.RetryAgent(new undici.Agent(), { maxRetries: 2, minTimeout: 1, methods: ['GET'] });
  await undici
    .request(`${server.origin}/429`, { dispatcher: retrying })
    .then((answer) => answer.body.text())
    .catch(() => undefined);
  expect(seen.all.slice(2).map(({ head }) => head?.status)).toEqual([429, 429, 429]);
  expect(seen.outcomes).not.toContain('open');
  await Promise.all([hops.destroy(), retrying.destroy()]);
});

test('a refused connection is an error with its code', async () => {
  const port = await closedPort();
  await expect(undici.request(`http://127.0.0.1:${port}/`, POST)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  expect(seen.only.ends).toMatchObject([{ outcome: 'error', error: { code: 'ECONNREFUSED' } }]);
  expect(body(seen.only.requestBody)).toBe('{"a":1}');
});

test('destroying the body ends the exchange as aborted', async () => {
  const { body: stream } = await undici.request(`${server.origin}/open`);
  for await (const piece of stream) {
    expect(String(piece)).toBe('first');
    break;
  }
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(seen.outcomes).toEqual(['aborted']);
});

test('a handler with the newer callbacks and private fields works', async () => {
  class Reading {
    #text = '';
    finished: (text: string) => void = () => undefined;
    onRequestStart(): void {
      this.#text = '';
    }
    onResponseStart(): void {
      this.#text += '>';
    }
    onResponseData(_controller: unknown, chunk: Buffer): void {
      this.#text += chunk.toString();
    }
    onResponseEnd(): void {
      this.finished(this.#text);
    }
    onResponseError(_controller: unknown, error: Error): void {
      this.finished(error.message);
    }
  }
  const client = new undici.Client(server.origin);
  const reading = new Reading();
  const text = await new Promise<string>((resolve) => {
    reading.finished = resolve;
    client.dispatch({ path: '/sse', method: 'GET' }, reading as unknown as undici.Dispatcher.DispatchHandler);
  });
  expect(text).toContain('>data: one');
  expect(seen.only.url).toBe(`${server.origin}/sse`);
  expect(seen.only.chunks.length).toBe(3);
  expect(seen.outcomes).toEqual(['ok']);
  await client.close();
});

test('an upgrade ends the exchange with its status', async () => {
  const { socket } = await undici.upgrade(`${server.origin}/socket`, { protocol: 'echo' });
  expect(seen.only.head?.status).toBe(101);
  expect(seen.outcomes).toEqual(['ok']);
  socket.destroy();
});

test('headers given as a generator reach the server and the recording', async () => {
  function* headers(): Generator<[string, string]> {
    yield ['X-Cor', 'from a generator'];
  }
  const answer = await undici.request(`${server.origin}/echo`, { headers: headers() as never });
  expect(await answer.body.json()).toMatchObject({ correlation: 'from a generator' });
  expect(seen.only.headers).toEqual([['X-Cor', 'from a generator']]);
});

test('tapping one copy twice records once, and undoing puts its dispatch back', async () => {
  const again = tapUndiciModule(undici, seen);
  await (await undici.request(`${server.origin}/echo`)).body.text();
  expect(seen.all.length).toBe(1);
  again();
  undo();
  await (await undici.request(`${server.origin}/echo`)).body.text();
  expect(seen.all.length).toBe(1);
});
