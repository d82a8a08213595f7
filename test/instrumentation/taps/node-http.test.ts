import * as http from 'node:http';
import { request as namedRequest } from 'node:http';
import { installNodeHttpTap } from '../../../instrumentation/taps/node-http';
import { body, CollectedExchanges, throwingObserver } from './collected-exchanges';
import { closedPort, GZIPPED, PIECES, sleep, StubServer } from './stub-server';

let server: StubServer;
let seen: CollectedExchanges;
let undo: () => void;
const takenBefore = http.request;

beforeAll(async () => {
  server = await StubServer.listen();
});
afterAll(() => server.close());
beforeEach(() => {
  seen = new CollectedExchanges();
  undo = installNodeHttpTap(seen, seen.onFailure);
});
afterEach(() => {
  undo();
  expect(seen.failures).toEqual([]);
});

interface Answer {
  readonly status: number | undefined;
  readonly pieces: string[];
  readonly error: string | undefined;
}

type Make = (callback: (response: http.IncomingMessage) => void) => http.ClientRequest;

/** Sends a request made in some way and reads all that comes. */
function ask(make: Make, send = (request: http.ClientRequest): unknown => request.end()): Promise<Answer> {
  return new Promise((resolve) => {
    const pieces: string[] = [];
    let status: number | undefined;
    let error: string | undefined;
    const request = make((response) => {
      status = response.statusCode;
      response.on('data', (piece: Buffer) => pieces.push(piece.toString('latin1')));
      response.on('error', (failure: NodeJS.ErrnoException) => (error = failure.code ?? failure.message));
      response.on('end', () => resolve({ status, pieces, error }));
      response.on('close', () => resolve({ status, pieces, error }));
    });
    request.on('error', (failure: NodeJS.ErrnoException) => {
      error = failure.code ?? failure.message;
      resolve({ status, pieces, error });
    });
    send(request);
  });
}

const get =
  (path: string, options: http.RequestOptions = {}): Make =>
  (callback) =>
    http.request(server.origin + path, options, callback);

test.each<[string, Make]>([
  ['http.request', (callback) => http.request(`${server.origin}/echo`, callback)],
  ['http.get', (callback) => http.get(`${server.origin}/echo`, callback)],
  ['a reference taken before', (callback) => takenBefore(`${server.origin}/echo`, callback)],
  ['a named import', (callback) => namedRequest(`${server.origin}/echo`, callback)],
  ['new ClientRequest', (callback) => Reflect.construct(http.ClientRequest, [`${server.origin}/echo`, callback])],
  ['an own agent', (callback) => http.request(`${server.origin}/echo`, { agent: new http.Agent() }, callback)],
  ['no agent', (callback) => http.request(`${server.origin}/echo`, { agent: false }, callback)],
])('a request made by %s is recorded', async (_name, make) => {
  const { status, pieces } = await ask(make);
  expect(status).toBe(200);
  expect(seen.only).toMatchObject({ transport: 'node-http', method: 'GET', url: `${server.origin}/echo` });
  expect(seen.only.head).toMatchObject({ status: 200, statusText: 'Very Fine' });
  expect(seen.only.head?.headers.slice(1, 3)).toEqual([
    ['X-Twice', 'a'],
    ['x-twice', 'b'],
  ]);
  expect(body(seen.only.chunks)).toBe(pieces.join(''));
  expect(seen.outcomes).toEqual(['ok']);
});

test('everything that write and end send is recorded, in the encoding in which it is sent', async () => {
  const { pieces } = await ask(get('/echo', { method: 'POST', headers: { 'X-Mixed-Case': '1' } }), (request) => {
    request.write('6162', 'hex');
    request.write(new Uint8Array([99]));
    request.end('dä', () => undefined);
  });
  expect(body(seen.only.requestBody)).toBe('abcdä');
  expect(Buffer.from(pieces.join(''), 'latin1').toString()).toContain('"body":"abcdä"');
  expect(seen.only.headers).toContainEqual(['X-Mixed-Case', '1']);
});

test('headers given as a list are recorded as they are written', async () => {
  const headers = ['Host', server.origin.slice(7), 'A', '1', 'a', '2'] as unknown as http.OutgoingHttpHeaders;
  await ask(get('/echo', { headers }));
  expect(seen.only.headers.slice(0, 3)).toEqual([
    ['Host', server.origin.slice(7)],
    ['A', '1'],
    ['a', '2'],
  ]);
});

test('pieces are recorded as they arrive, compressed bytes and trailers too', async () => {
  expect((await ask(get('/sse'))).pieces).toEqual(PIECES);
  await ask(get('/gzip'));
  await ask(get('/trailers'));
  expect(seen.all[0]?.chunks.map(String)).toEqual(PIECES);
  expect(Buffer.concat(seen.all[1]?.chunks ?? []).equals(GZIPPED)).toBe(true);
  expect(seen.all[2]?.trailers).toEqual([['X-Sum', '42']]);
  expect(seen.outcomes).toEqual(['ok', 'ok', 'ok']);
});

test('a response is not set flowing: the server sends no more than the client takes', async () => {
  const sentWhilePaused = async (): Promise<number> => {
    const own = await StubServer.listen();
    const response = await new Promise<http.IncomingMessage>((resolve) => http.get(`${own.origin}/flood`, resolve));
    expect(response.readableFlowing).toBeNull();
    await sleep(300);
    const sent = own.bytesSent;
    response.on('error', () => undefined).destroy();
    await own.close();
    return sent;
  };
  const tapped = await sentWhilePaused();
  await sleep(50);
  expect(seen.outcomes).toEqual(['aborted']);
  undo();
  expect(tapped).toBeLessThan((await sentWhilePaused()) * 1.5 + 1_000_000);
});

test('a keep-alive agent keeps its one socket', async () => {
  const own = await StubServer.listen();
  const agent = new http.Agent({ keepAlive: true });
  for (let i = 0; i < 5; i += 1) {
    await ask((callback) => http.request(`${own.origin}/echo`, { agent }, callback));
    await sleep(5);
  }
  expect([own.connections, own.requests]).toEqual([1, 5]);
  agent.destroy();
  await own.close();
});

test.each<[string, (request: http.ClientRequest) => void, string]>([
  ['destroy', (request) => request.destroy(), 'AbortError'],
  ['abort', (request) => request.abort(), 'AbortError'],
  ['destroy with an error', (request) => request.destroy(new RangeError('enough')), 'RangeError'],
])('%s before the head ends the exchange as aborted', async (_name, giveUp, name) => {
  await ask(get('/hang'), (request) => {
    request.end();
    setTimeout(() => giveUp(request), 40);
  });
  await sleep(20);
  expect(seen.only.ends).toMatchObject([{ outcome: 'aborted', error: { name } }]);
});

test('an abort signal in the middle of the body ends the exchange as aborted', async () => {
  const signal = AbortSignal.timeout(300);
  const { pieces } = await ask(get('/open', { signal }));
  await sleep(20);
  expect(pieces).toEqual(['first']);
  expect(seen.outcomes).toEqual(['aborted']);
});

test('breaking out of the loop over a response ends the exchange as aborted', async () => {
  const response = await new Promise<http.IncomingMessage>((resolve) => http.get(`${server.origin}/open`, resolve));
  for await (const piece of response) {
    expect(String(piece)).toBe('first');
    break;
  }
  await sleep(20);
  expect(seen.outcomes).toEqual(['aborted']);
});

test('connection failures are errors before the head and cuts after it', async () => {
  const port = await closedPort();
  const refused: Make = (callback) => http.request(`http://127.0.0.1:${port}/`, { method: 'POST' }, callback);
  expect((await ask(refused, (request) => request.end('unsent'))).error).toBe('ECONNREFUSED');
  const unknown = await ask((callback) => http.request('http://no-such-host.invalid/', callback));
  expect((await ask(get('/no-answer'))).error).toBe('ECONNRESET');
  expect((await ask(get('/reset'))).error).toBe('ECONNRESET');
  await sleep(20);
  expect(seen.all.map(({ ends }) => [ends[0]?.outcome, ends[0]?.error?.code])).toEqual([
    ['error', 'ECONNREFUSED'],
    ['error', unknown.error],
    ['error', 'ECONNRESET'],
    ['cut', 'ECONNRESET'],
  ]);
  expect(body(seen.all[0]?.requestBody ?? [])).toBe('unsent');
  expect(seen.outcomes).toEqual(['error', 'error', 'error', 'cut']);
});

test('a response that nobody listens to ends', async () => {
  const request = http.get(`${server.origin}/echo`);
  await new Promise((resolve) => request.on('close', resolve));
  expect(seen.outcomes).toEqual(['ok']);
});

test('an error without a listener is still uncaught', async () => {
  const request = http.request(`${server.origin}/echo`);
  request.on('socket', () => undefined);
  expect(request.listenerCount('error')).toBe(0);
  expect(() => request.emit('error', new Error('mine'))).toThrow('mine');
  expect(seen.outcomes).toEqual(['error']);
  const closed = new Promise((resolve) => request.on('close', resolve));
  request.on('error', () => undefined).destroy();
  await closed;
});

test('a request that the program drops before it sends anything is no exchange', async () => {
  const request = http.request(`${server.origin}/echo`);
  request.on('error', () => undefined).destroy();
  await new Promise((resolve) => request.on('close', resolve));
  expect(seen.all).toEqual([]);
});

test('an upgrade ends the exchange with its status', async () => {
  const headers = { connection: 'Upgrade', upgrade: 'echo' };
  await new Promise<void>((resolve) => {
    const request = http.get(`${server.origin}/socket`, { headers });
    request.on('upgrade', (_response, socket) => {
      socket.destroy();
      resolve();
    });
  });
  expect(seen.only.head?.status).toBe(101);
  expect(seen.outcomes).toEqual(['ok']);
});

test.each<[string, http.RequestOptions]>([
  ['named headers', { headers: { a: 'b' } }],
  ['a list of headers', { headers: ['Host', 'x', 'a', 'b'] as unknown as http.OutgoingHttpHeaders }],
])('a correlation header is added to %s', async (_name, options) => {
  seen.correlation = ['x-cor', 'id-7'];
  const { pieces } = await ask(get('/echo', options));
  expect(JSON.parse(pieces.join(''))).toMatchObject({ correlation: 'id-7' });
});

test('an observer that throws in every call changes nothing', async () => {
  undo();
  const failures: unknown[] = [];
  undo = installNodeHttpTap(throwingObserver, (_place, error) => failures.push(error));
  const { status, pieces } = await ask(get('/echo', { method: 'POST' }), (request) => request.end('same'));
  expect(status).toBe(200);
  expect(pieces.join('')).toContain('"body":"same"');
  expect(failures.length).toBeGreaterThan(3);
});

test('methods keep their names and lengths, and undoing puts them back', async () => {
  await ask(get('/echo'));
  const names = ['write', 'end', 'flushHeaders', 'destroy', 'emit'] as const;
  const shape = (): unknown =>
    names.map((name) => [http.ClientRequest.prototype[name].name, http.ClientRequest.prototype[name].length]);
  const tapped = shape();
  undo();
  expect(shape()).toEqual(tapped);
  await ask(get('/echo'));
  expect(seen.all.length).toBe(1);
});
