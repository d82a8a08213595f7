import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { gzipSync } from 'node:zlib';

export const PIECES = ['data: one\n\n', 'data: two\n\n', 'data: three\n\n'];
export const GZIPPED = gzipSync('compressed '.repeat(500));

type Route = (request: IncomingMessage, response: ServerResponse, body: Buffer) => void;

const ROUTES: Readonly<Record<string, Route>> = {
  '/echo': (request, response, body) => {
    response.writeHead(200, 'Very Fine', [
      ['Content-Type', 'application/json'],
      ['X-Twice', 'a'],
      ['x-twice', 'b'],
    ]);
    response.end(
      JSON.stringify({ method: request.method, body: body.toString(), correlation: request.headers['x-cor'] }),
    );
  },
  '/sse': (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    PIECES.forEach((piece, index) => setTimeout(() => response.write(piece), 120 * (index + 1)));
    setTimeout(() => response.end(), 120 * (PIECES.length + 1));
  },
  '/gzip': (_request, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': GZIPPED.length });
    response.write(GZIPPED.subarray(0, 10));
    setTimeout(() => response.end(GZIPPED.subarray(10)), 100);
  },
  '/trailers': (_request, response) => {
    response.writeHead(200, { trailer: 'X-Sum' });
    response.write('body');
    response.addTrailers({ 'X-Sum': '42' });
    response.end();
  },
  '/redirect': (_request, response) => {
    response.writeHead(307, { location: '/echo' });
    response.end('over there');
  },
  '/empty': (_request, response) => {
    response.writeHead(204);
    response.end();
  },
  '/hang': () => undefined,
  '/open': (_request, response) => {
    response.write('first');
  },
  '/reset': (request, response) => {
    response.writeHead(200, { 'content-length': 100 });
    response.write('first');
    setTimeout(() => request.socket.destroy(), 30);
  },
  '/no-answer': (request) => {
    request.socket.destroy();
  },
  '/flood': (_request, response) => flood(response, 64),
  '/429': (_request, response) => {
    response.writeHead(429, { 'retry-after': '0' });
    response.end('{"error":{"message":"slow down"}}');
  },
};

/** Writes megabytes as fast as the client takes them. */
function flood(response: ServerResponse, megabytes: number): void {
  const block = Buffer.alloc(64 * 1024, 'x');
  let left = megabytes * 16;
  const write = (): void => {
    while (left > 0) {
      left -= 1;
      if (!response.write(block)) {
        response.once('drain', write);
        return;
      }
    }
    response.end();
  };
  write();
}

/** A real server of this process with a route per behaviour. */
export class StubServer {
  readonly server: Server;
  readonly sockets = new Set<Socket>();
  connections = 0;
  requests = 0;

  private constructor() {
    this.server = createServer((request, response) => {
      this.requests += 1;
      const received: Buffer[] = [];
      const route = ROUTES[request.url?.split('?')[0] ?? ''];
      request.on('data', (piece: Buffer) => received.push(piece));
      request.on('error', () => undefined);
      request.on('end', () => route?.(request, response, Buffer.concat(received)));
    });
    this.server.on('upgrade', (_request, socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nhello');
    });
    this.server.on('connection', (socket: Socket) => {
      this.connections += 1;
      this.sockets.add(socket);
      socket.on('error', () => undefined);
    });
  }

  static async listen(): Promise<StubServer> {
    const stub = new StubServer();
    await new Promise<void>((resolve) => stub.server.listen(0, '127.0.0.1', resolve));
    return stub;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get bytesSent(): number {
    return [...this.sockets].reduce((sum, socket) => sum + socket.bytesWritten, 0);
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** A port on which nothing listens. */
export async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
