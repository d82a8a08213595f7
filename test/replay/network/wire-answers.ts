import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { IncomingCall } from '../../../replay/network/virtual-network';

type Headers = readonly (readonly [string, string])[];

/** What a server answers, byte for byte; played by a real server and by the virtual one. */
interface Answer {
  readonly status?: number;
  readonly early?: { readonly status: number; readonly statusText: string; readonly headers: Headers };
  readonly headers: Headers;
  readonly chunks: readonly (string | Buffer)[];
  readonly trailers?: Headers;
  readonly then?: 'wait' | 'reset';
}

const CHUNKED: Headers = [['transfer-encoding', 'chunked']];
const GZIPPED = gzipSync('hello gzip');

const ANSWERS: Readonly<Record<string, Answer>> = {
  '/length': {
    headers: [
      ['Content-Length', '5'],
      ['X-A', '1'],
      ['x-a', '2'],
    ],
    chunks: ['he', 'llo'],
  },
  '/length?2': { headers: [['Content-Length', '5']], chunks: ['22222'] },
  '/chunks': {
    headers: [...CHUNKED, ['Trailer', 'X-T'], ['Keep-Alive', 'timeout=5']],
    chunks: ['one', 'two', 'three'],
    trailers: [['X-T', 'v']],
  },
  '/until-close': { headers: [['content-type', 'text/plain']], chunks: ['aa', 'bb'] },
  '/204': { status: 204, headers: [['X', 'y']], chunks: [] },
  '/304': {
    status: 304,
    headers: [
      ['ETag', '"1"'],
      ['Content-Length', '10'],
    ],
    chunks: [],
  },
  '/103': {
    early: { status: 103, statusText: 'Early Hints', headers: [['Link', '</a>']] },
    headers: [['Content-Length', '1']],
    chunks: ['z'],
  },
  '/empty': { headers: [['Content-Length', '0']], chunks: [] },
  '/stall': { headers: CHUNKED, chunks: ['part'], then: 'wait' },
  '/reset': { headers: CHUNKED, chunks: ['part'], then: 'reset' },
  '/short': { headers: [['Content-Length', '10']], chunks: ['shrt'] },
  '/gzip': {
    headers: [
      ['content-encoding', 'gzip'],
      ['content-length', String(GZIPPED.length)],
    ],
    chunks: [GZIPPED],
  },
};

function answerTo(path: string, body: Buffer): Answer {
  if (path === '/digest') {
    return { headers: [['Content-Length', '64']], chunks: [createHash('sha256').update(body).digest('hex')] };
  }
  return ANSWERS[path] ?? { status: 404, headers: [['Content-Length', '0']], chunks: [] };
}

/** Plays an answer on the virtual network. */
export function playVirtually({ request, responder }: IncomingCall): void {
  const { pathname, search } = new URL(request.url);
  const path = pathname + search;
  if (path === '/wait') return;
  if (path === '/hang-up') return responder.destroy();
  if (path === '/reset-at-once') return responder.destroy('ECONNRESET');
  const answer = answerTo(path, request.body);
  if (answer.early !== undefined) responder.head(answer.early);
  responder.head({ status: answer.status ?? 200, statusText: 'OK', headers: answer.headers });
  for (const chunk of answer.chunks) responder.chunk(Buffer.from(chunk));
  if (answer.then === 'reset') responder.destroy('ECONNRESET');
  else if (answer.then === undefined) responder.end(answer.trailers);
}

/** Plays the same answers from a real server, each piece in a packet of its own. */
export async function startRealServer(): Promise<{ port: number; close(): Promise<void> }> {
  const server: Server = createServer({ keepAliveTimeout: 0 });
  Object.assign(server, { httpAllowHalfOpen: true });
  const before = new WeakMap<Socket, Promise<void>>();
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    const turn = (before.get(request.socket) ?? Promise.resolve()).then(() => playForReal(request, response));
    before.set(request.socket, turn);
  };
  server.on('request', onRequest);
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    response.writeContinue();
    onRequest(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      server.closeAllConnections();
      server.close();

      // Clients that keep connections must have noticed before they send again.
      await new Promise((resolve) => setTimeout(resolve, 20));
    },
  };
}

async function playForReal(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { socket } = request;
  const body: Buffer[] = [];
  for await (const bytes of request) body.push(bytes as Buffer);
  const path = request.url ?? '';
  if (path === '/wait') return;
  if (path === '/hang-up') return void socket.end();
  if (path === '/reset-at-once') return void socket.resetAndDestroy();
  const answer = answerTo(path, Buffer.concat(body));
  if (answer.early !== undefined) await write(socket, head(answer.early));
  await write(socket, head({ status: answer.status ?? 200, statusText: 'OK', headers: answer.headers }));
  const isChunked = answer.headers[0]?.[0] === 'transfer-encoding';
  const hasBody = request.method !== 'HEAD' && answer.status !== 204 && answer.status !== 304;
  let left = Number(answer.headers.find(([name]) => /length/i.test(name))?.[1] ?? Infinity);
  for (const chunk of hasBody ? answer.chunks : []) {
    const bytes = Buffer.from(chunk);
    left -= bytes.length;
    const size = Buffer.from(`${bytes.length.toString(16)}\r\n`);
    await write(socket, isChunked ? Buffer.concat([size, bytes, Buffer.from('\r\n')]) : bytes);
  }
  if (answer.then === 'wait') return;
  if (answer.then === 'reset') return void socket.resetAndDestroy();
  if (isChunked) socket.write(`0\r\n${fields(answer.trailers ?? [])}\r\n`);
  response.emit('finish');
  const isLast = request.headers.connection === 'close' || request.httpVersionMinor === 0;
  if (isLast || (hasBody && !isChunked && left > 0)) socket.end();
}

function head({ status, statusText, headers }: { status: number; statusText: string; headers: Headers }): string {
  return `HTTP/1.1 ${status} ${statusText}\r\n${fields(headers)}\r\n`;
}

function fields(headers: Headers): string {
  return headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
}

/** Long enough apart for the client to see two pieces. */
async function write(socket: Socket, bytes: string | Buffer): Promise<void> {
  socket.write(bytes);
  await new Promise((resolve) => setTimeout(resolve, 5));
}
