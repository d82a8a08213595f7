import http, { type ClientRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import net, { type NetConnectOpts, type Socket } from 'node:net';

/** One thing a client does, and what it sees: compared between a real server and the virtual network. */
export type Scenario = (port: number) => Promise<unknown[]>;

const EVENTS = ['lookup', 'connect', 'ready', 'end', 'finish', 'close', 'error', 'timeout', 'drain', 'pause', 'resume'];

function withSocket(options: Partial<NetConnectOpts>, act: (socket: Socket, log: unknown[]) => void): Scenario {
  return (port) =>
    new Promise((resolve) => {
      const log: unknown[] = [];
      const socket = net.connect({ host: '127.0.0.1', ...options, port } as NetConnectOpts);
      for (const event of EVENTS) {
        socket.on(event, (detail: unknown) =>
          log.push(detail instanceof Error ? [event, detail.message, { ...detail }] : [event, detail]),
        );
      }
      socket.on('close', () => setTimeout(() => resolve(log), 5));
      act(socket, log);
    });
}

function readAll(socket: Socket, log: unknown[]): void {
  socket.setEncoding('latin1');
  socket.on('data', (text: string) => log.push(text));
}

interface Exchange {
  readonly request: ClientRequest;
  readonly log: unknown[];
}

function withRequest(
  options: RequestOptions,
  act: (exchange: Exchange) => void = ({ request }) => void request.end(),
  onResponse: (response: IncomingMessage, exchange: Exchange) => void = () => undefined,
): Scenario {
  return (port) =>
    new Promise((resolve) => {
      const log: unknown[] = [];
      const request = http.request({ host: '127.0.0.1', port, ...options }, (response) => {
        log.push([response.statusCode, response.statusMessage, response.httpVersion, response.rawHeaders]);
        response.on('data', (bytes: Buffer) => log.push(bytes.toString()));
        response.on('end', () => log.push(['end', response.complete, response.rawTrailers]));
        response.on('aborted', () => log.push('aborted'));
        response.on('error', (error) => log.push(['response error', error.message, { ...error }]));
        response.on('close', () => log.push(['response close', response.complete]));
        onResponse(response, { request, log });
      });
      request.on('information', ({ statusCode, rawHeaders }) => log.push([statusCode, rawHeaders]));
      request.on('continue', () => log.push('continue'));
      request.on('timeout', () => log.push('timeout'));
      request.on('error', (error) => log.push(['request error', error.message, { ...error }]));
      request.on('close', () => {
        log.push('request close');
        setTimeout(() => resolve(log), 5);
      });
      act({ request, log });
    });
}

async function fetched(url: string, init: RequestInit = {}): Promise<unknown[]> {
  const log: unknown[] = [];
  try {
    const response = await fetch(url, init);
    log.push(response.status, response.statusText, [...response.headers]);
    const reader = response.body?.getReader();
    for (let step = await reader?.read(); step?.done === false; step = await reader?.read()) {
      log.push(Buffer.from(step.value).toString());
    }
  } catch (error) {
    const { name, message, cause } = error as Error & { cause?: NodeJS.ErrnoException };
    log.push(name, message, cause?.name, cause?.message, cause?.code);
  }
  return log;
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
const getLast = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;

export const SOCKET_SCENARIOS: Readonly<Record<string, Scenario>> = {
  'reads an answer to the end of the connection': withSocket({}, (socket, log) => {
    readAll(socket, log);
    log.push([socket.pending, socket.connecting, socket.readyState]);
    socket.write(getLast('/length'));
  }),
  'speaks HTTP/1.0': withSocket({}, (socket, log) => {
    readAll(socket, log);
    socket.write('GET /length HTTP/1.0\r\n\r\n');
  }),
  'sends its next request before the answer to the first': withSocket({}, (socket, log) => {
    let text = '';
    socket.on('data', (bytes: Buffer) => (text += bytes.toString()));
    socket.on('end', () => log.push(text));
    socket.write(get('/length') + getLast('/length?2'));
  }),
  'ends its side before the answer comes': withSocket({ allowHalfOpen: true }, (socket, log) => {
    readAll(socket, log);
    socket.on('end', () => socket.end());
    socket.end(get('/length'));
  }),
  'destroys the socket before it is connected': withSocket({}, (socket) => void socket.destroy()),
  'destroys the socket with an error of its own': withSocket({}, (socket) => {
    socket.on('connect', () => socket.destroy(new Error('mine')));
  }),
  'writes after end': withSocket({}, (socket, log) => {
    socket.on('connect', () => {
      socket.end();
      socket.write('x', (error) => log.push(['written', error?.message]));
    });
  }),
  'destroys the socket with a write under way': withSocket({}, (socket, log) => {
    socket.write('GET', (error) => log.push(['written', error?.message]));
    socket.destroy();
  }),
  'looks at addresses, states and counters': withSocket({}, (socket, log) => {
    const look = (): void => {
      const { remoteAddress, remoteFamily, localAddress, pending, connecting, readyState, timeout } = socket;
      log.push({ remoteAddress, remoteFamily, localAddress, pending, connecting, readyState, timeout });
      log.push([typeof socket.localPort, socket.bytesWritten, socket.bytesRead]);
    };
    socket.on('connect', () => {
      look();
      socket.setNoDelay(true).setKeepAlive(true, 1_000).ref().unref();
      socket.end(getLast('/length'));
      socket.resume();
    });
    socket.on('close', look);
  }),
  'waits longer than its idle timeout': withSocket({ timeout: 30 }, (socket, log) => {
    const alive = setInterval(() => undefined, 1_000);
    socket.on('timeout', () => {
      log.push(socket.timeout);
      socket.destroy();
      clearInterval(alive);
    });
  }),
};

export const REQUEST_SCENARIOS: Readonly<Record<string, Scenario>> = {
  'gets a body of known length': withRequest({ path: '/length' }),
  'gets chunks and trailers': withRequest({ path: '/chunks' }),
  'gets a body that ends with the connection': withRequest({ path: '/until-close' }),
  'gets no body for HEAD': withRequest({ path: '/length', method: 'HEAD' }),
  'gets 204': withRequest({ path: '/204' }),
  'gets 304 with a length': withRequest({ path: '/304' }),
  'gets early hints': withRequest({ path: '/103' }),
  'gets an empty body': withRequest({ path: '/empty' }),
  'gets a body shorter than its length': withRequest({ path: '/short' }),
  'gets a reset in the middle of the body': withRequest({ path: '/reset' }),
  'gets a reset instead of an answer': withRequest({ path: '/reset-at-once' }),
  'gets no answer but the end of the connection': withRequest({ path: '/hang-up' }),
  'has no agent': withRequest({ path: '/length', agent: false }),
  'expects 100-continue': withRequest(
    { path: '/digest', method: 'POST', headers: { Expect: '100-continue' } },
    ({ request }) => {
      request.on('continue', () => request.end('body'));
      request.flushHeaders();
    },
  ),
  'uploads more than fits in a buffer': withRequest({ path: '/digest', method: 'POST' }, ({ request }) => {
    request.write(Buffer.alloc(300_000, 97));
    request.write('zz');
    request.end(Buffer.alloc(1_000, 98));
  }),
  'aborts while it waits': withRequest({ path: '/wait' }, ({ request }) => {
    request.end();
    setTimeout(() => request.destroy(), 20);
  }),
  'aborts in the middle of the body': withRequest({ path: '/stall' }, undefined, (response, { request }) => {
    response.on('data', () => request.destroy());
  }),
  'waits longer than its timeout': withRequest({ path: '/wait', timeout: 40 }, ({ request }) => {
    request.on('timeout', () => request.destroy(new Error('too late')));
    request.end();
  }),
  'pauses after each chunk': withRequest({ path: '/chunks' }, undefined, (response) => {
    response.on('data', () => {
      response.pause();
      setTimeout(() => response.resume(), 10);
    });
  }),
  'sends three requests over one kept connection': async (port) => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const log: unknown[] = [];
    for (let at = 0; at < 3; at += 1) {
      const send = withRequest({ path: '/chunks', agent }, (exchange) => {
        exchange.request.on('socket', () => exchange.log.push(exchange.request.reusedSocket));
        exchange.request.end();
      });
      log.push(await send(port));
    }
    agent.destroy();
    return log;
  },
};

const FETCHED = [
  '/length',
  '/chunks',
  '/until-close',
  '/204',
  '/short',
  '/reset',
  '/hang-up',
  '/reset-at-once',
  '/gzip',
];

export const FETCH_SCENARIOS: Readonly<Record<string, Scenario>> = {
  ...Object.fromEntries(
    FETCHED.map((path) => [`fetches ${path}`, (port: number) => fetched(`http://127.0.0.1:${port}${path}`)]),
  ),
  'aborts a fetch that waits': (port) => fetched(`http://127.0.0.1:${port}/wait`, { signal: AbortSignal.timeout(30) }),
  'aborts a fetch in the middle of the body': async (port) => {
    const controller = new AbortController();
    const response = await fetch(`http://127.0.0.1:${port}/stall`, { signal: controller.signal });
    const reader = response.body?.getReader();
    const first = await reader?.read();
    controller.abort();
    const error = await reader?.read().catch((reason: unknown) => reason);
    return [Buffer.from(first?.value ?? '').toString(), (error as Error).name, (error as Error).message];
  },
  'cancels a body and fetches again': async (port) => {
    const response = await fetch(`http://127.0.0.1:${port}/stall`);
    await response.body?.cancel();
    return fetched(`http://127.0.0.1:${port}/length`);
  },
};
