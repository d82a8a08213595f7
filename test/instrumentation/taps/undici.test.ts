import { gunzipSync } from 'node:zlib';
import { installUndiciTap } from '../../../instrumentation/taps/undici';
import { body, CollectedExchanges, throwingObserver } from './collected-exchanges';
import { closedPort, GZIPPED, PIECES, sleep, StubServer } from './stub-server';

let server: StubServer;
let seen: CollectedExchanges;
let undo: () => void;
const untapped = globalThis.fetch;

beforeAll(async () => {
  server = await StubServer.listen();
});
afterAll(() => server.close());
beforeEach(() => {
  seen = new CollectedExchanges();
  undo = installUndiciTap(seen, seen.onFailure);
});
afterEach(() => {
  undo();
  expect(seen.failures).toEqual([]);
});

async function attempt(run: () => Promise<unknown>): Promise<Record<string, unknown>> {
  try {
    await run();
    return { thrown: false };
  } catch (error) {
    const { name, message, cause } = error as Error & { cause?: { code?: string } };
    return { thrown: true, name, message, code: cause?.code };
  }
}

test('a fetch is recorded with the bytes and headers of the wire', async () => {
  const response = await fetch(`${server.origin}/echo?q=1`, {
    method: 'POST',
    body: '{"a":"ä"}',
    headers: { 'X-Custom': 'Yes' },
  });
  const text = await response.text();
  const { method, url, transport, headers, head, requestBody, chunks } = seen.only;
  expect({ method, url, transport }).toEqual({ method: 'POST', url: `${server.origin}/echo?q=1`, transport: 'undici' });
  expect(headers).toContainEqual(['X-Custom', 'Yes']);
  expect(head).toMatchObject({ status: 200, statusText: 'Very Fine' });
  expect(head?.headers.filter(([name]) => /x-twice/i.test(name))).toEqual([
    ['X-Twice', 'a'],
    ['x-twice', 'b'],
  ]);
  expect(body(requestBody)).toBe('{"a":"ä"}');
  expect(body(chunks)).toBe(text);
  expect(seen.outcomes).toEqual(['ok']);
});

test('the program sees the same response as without the tap', async () => {
  const look = async (fetchIt: typeof fetch): Promise<unknown> => {
    const response = await fetchIt(`${server.origin}/redirect`, { method: 'POST', body: 'x' });
    const { status, statusText, url, redirected, type, bodyUsed, ok } = response;
    const names = [...response.headers.keys()];
    return { status, statusText, url, redirected, type, bodyUsed, ok, names, text: await response.text() };
  };
  expect(await look(fetch)).toEqual(await look(untapped));
  expect(await fetch(`${server.origin}/empty`)).toBeInstanceOf(Response);
});

test('fetch keeps its name, length and own keys', () => {
  expect([fetch.name, fetch.length, Object.keys(fetch)]).toEqual([
    untapped.name,
    untapped.length,
    Object.keys(untapped),
  ]);
});

test('pieces of a stream arrive one by one and are recorded as they were', async () => {
  const response = await fetch(`${server.origin}/sse`);
  const pieces: string[] = [];
  const times: number[] = [];
  for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
    pieces.push(Buffer.from(piece).toString());
    times.push(performance.now());
  }
  expect(pieces).toEqual(PIECES);
  expect((times[2] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(100);
  expect(seen.only.chunks.map(String)).toEqual(PIECES);
});

test('a compressed body is recorded compressed, in its pieces', async () => {
  const text = await (await fetch(`${server.origin}/gzip`)).text();
  const recorded = Buffer.concat(seen.only.chunks);
  expect(recorded.equals(GZIPPED)).toBe(true);
  expect(seen.only.chunks.length).toBe(2);
  expect(gunzipSync(recorded).toString()).toBe(text);
});

test('trailers are recorded', async () => {
  await (await fetch(`${server.origin}/trailers`)).text();
  expect(seen.only.trailers).toEqual([['X-Sum', '42']]);
  expect(seen.only.calls.slice(-2)).toEqual(['trailers', 'end']);
});

test('each redirect hop is an exchange of its own, with its body', async () => {
  await (await fetch(`${server.origin}/redirect`, { method: 'POST', body: 'again' })).text();
  expect(seen.all.map(({ url, head }) => [new URL(url).pathname, head?.status])).toEqual([
    ['/redirect', 307],
    ['/echo', 200],
  ]);
  expect(seen.all.map(({ requestBody }) => body(requestBody))).toEqual(['again', 'again']);
  expect(seen.outcomes).toEqual(['ok', 'ok']);
});

test('bodies that are sent in pieces are recorded as they are sent', async () => {
  const form = new FormData();
  form.set('field', 'value');
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const part of ['one', 'two']) controller.enqueue(new TextEncoder().encode(part));
      controller.close();
    },
  });
  for (const sent of [form, stream, new Blob(['blob']), new URLSearchParams({ a: 'b c' })] as NonNullable<
    RequestInit['body']
  >[]) {
    const init: RequestInit & { duplex: 'half' } = { method: 'POST', body: sent, duplex: 'half' };
    const echoed = (await (await fetch(`${server.origin}/echo`, init)).json()) as { body: string };
    expect(body(seen.all.at(-1)?.requestBody ?? [])).toBe(echoed.body);
    expect(echoed.body).not.toBe('');
  }
});

test('a Request object is sent and recorded', async () => {
  await (await fetch(new Request(`${server.origin}/echo`, { method: 'POST', body: 'inside' }))).text();
  expect(body(seen.only.requestBody)).toBe('inside');
});

test.each([
  ['before the head', '/hang', false],
  ['in the middle of the body', '/open', true],
])('an abort %s ends the exchange as aborted', async (_when, path, hasHead) => {
  const controller = new AbortController();
  const run = async (): Promise<void> => {
    const response = await fetch(server.origin + path, { signal: controller.signal });
    await response.text();
  };
  setTimeout(() => controller.abort(), 60);
  expect(await attempt(run)).toMatchObject({ thrown: true, name: 'AbortError' });
  await sleep(20);
  expect(seen.only.ends).toMatchObject([{ outcome: 'aborted', error: { name: 'AbortError' } }]);
  expect(seen.only.head !== undefined).toBe(hasHead);
});

test('a timeout of the program is an abort by its name', async () => {
  const run = async (): Promise<unknown> =>
    (await fetch(`${server.origin}/open`, { signal: AbortSignal.timeout(60) })).text();
  expect(await attempt(run)).toMatchObject({ name: 'TimeoutError' });
  expect(seen.only.ends).toMatchObject([{ outcome: 'aborted', error: { name: 'TimeoutError' } }]);
});

test('cancelling the reader and breaking out of the loop end the exchange as aborted', async () => {
  const reader = (await fetch(`${server.origin}/open`)).body?.getReader();
  await reader?.read();
  await reader?.cancel('enough');
  for await (const piece of (await fetch(`${server.origin}/open`)).body as unknown as AsyncIterable<Uint8Array>) {
    expect(Buffer.from(piece).toString()).toBe('first');
    break;
  }
  await sleep(20);
  expect(seen.outcomes).toEqual(['aborted', 'aborted']);
});

test('a refused connection is an error with its code and the body that was to be sent', async () => {
  const url = `http://127.0.0.1:${await closedPort()}/`;
  const run = (): Promise<unknown> => fetch(url, { method: 'POST', body: 'never sent' });
  expect(await attempt(run)).toMatchObject({ name: 'TypeError', message: 'fetch failed', code: 'ECONNREFUSED' });
  expect(seen.only.ends).toMatchObject([{ outcome: 'error', error: { code: 'ECONNREFUSED' } }]);
  expect(seen.only.head).toBeUndefined();
  expect(body(seen.only.requestBody)).toBe('never sent');
});

test('an unknown host is an error with its code', async () => {
  const { code } = await attempt(() => fetch('http://no-such-host.invalid/'));
  expect(['ENOTFOUND', 'EAI_AGAIN']).toContain(code);
  expect(seen.only.ends).toMatchObject([{ outcome: 'error', error: { code } }]);
});

test('a connection lost in the middle of the body is a cut', async () => {
  const run = async (): Promise<unknown> => (await fetch(`${server.origin}/reset`)).text();
  expect(await attempt(run)).toMatchObject({ message: 'terminated', code: 'UND_ERR_SOCKET' });
  expect(seen.only.ends).toMatchObject([{ outcome: 'cut', error: { code: 'UND_ERR_SOCKET' } }]);
  expect(body(seen.only.chunks)).toBe('first');
});

test('a connection closed without an answer is an error', async () => {
  expect(await attempt(() => fetch(`${server.origin}/no-answer`))).toMatchObject({ code: 'UND_ERR_SOCKET' });
  expect(seen.outcomes).toEqual(['error']);
});

test('the server can send no more than the client takes', async () => {
  const sentWhilePaused = async (fetchIt: typeof fetch): Promise<number> => {
    const own = await StubServer.listen();
    const reader = (await fetchIt(`${own.origin}/flood`)).body?.getReader();
    await reader?.read();
    await sleep(300);
    const sent = own.bytesSent;
    await reader?.cancel();
    await own.close();
    return sent;
  };
  const plain = Math.max(await sentWhilePaused(untapped), await sentWhilePaused(untapped));
  expect(await sentWhilePaused(fetch)).toBeLessThan(plain * 1.5 + 1_000_000);
});

test('sockets are reused as without the tap', async () => {
  const socketsFor = async (fetchIt: typeof fetch): Promise<number> => {
    const own = await StubServer.listen();
    for (let i = 0; i < 10; i += 1) await (await fetchIt(`${own.origin}/echo`)).text();
    await own.close();
    return own.connections;
  };
  expect(await socketsFor(fetch)).toBeLessThanOrEqual(Math.max(await socketsFor(untapped), 2));
});

test('concurrent exchanges are kept apart', async () => {
  const bodies = Array.from({ length: 20 }, (_, index) => `call ${index}`);
  await Promise.all(
    bodies.map(async (sent) => (await fetch(`${server.origin}/echo`, { method: 'POST', body: sent })).text()),
  );
  const pairs = seen.all.map((one) => [body(one.requestBody), (JSON.parse(body(one.chunks)) as { body: string }).body]);
  expect(pairs.map(([sent]) => sent)).toEqual(bodies);
  expect(pairs.every(([sent, echoed]) => sent === echoed)).toBe(true);
});

test('a correlation header is added to what the program sends', async () => {
  seen.correlation = ['x-cor', 'id-7'];
  for (const headers of [undefined, { a: 'b' }, [['a', 'b']] as [string, string][], new Headers({ a: 'b' })]) {
    const response = await fetch(`${server.origin}/redirect`, {
      method: 'POST',
      body: 'x',
      ...(headers ? { headers } : {}),
    });
    expect(await response.json()).toMatchObject({ correlation: 'id-7' });
  }
  expect(seen.all.flatMap((one) => one.headers).some(([name]) => name === 'x-cor')).toBe(false);
});

test('an exchange that the observer does not want is left alone', async () => {
  seen.wants = () => false;
  expect(await (await fetch(`${server.origin}/echo`)).json()).toMatchObject({ method: 'GET' });
  expect(seen.all).toEqual([]);
});

test('an observer that throws in every call changes nothing', async () => {
  undo();
  const failures: unknown[] = [];
  const remove = installUndiciTap(throwingObserver, (_place, error) => {
    failures.push(error);
    throw new Error('and so does the counter of failures');
  });
  try {
    const response = await fetch(`${server.origin}/echo`, { method: 'POST', body: 'same' });
    expect(await response.json()).toMatchObject({ body: 'same' });
    expect(failures.length).toBeGreaterThan(3);
  } finally {
    remove();
  }
});

test('undoing puts back what was there', async () => {
  undo();
  expect(globalThis.fetch).toBe(untapped);
  await (await fetch(`${server.origin}/echo`)).text();
  expect(seen.all).toEqual([]);
});
