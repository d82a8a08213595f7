// A provider that answers wrongly in every way that a client can meet.
/* global setImmediate */
import { createServer } from 'node:http';
import { gzipSync } from 'node:zlib';

const gzipped = gzipSync(JSON.stringify({ text: 'x'.repeat(5000) }));

const ANSWERS = {
  '/empty': (response) => response.writeHead(200).end(),
  '/none': (response) => response.writeHead(204).end(),
  '/bad-gzip': (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('this is no gzip'),
  '/cut-gzip': (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipped.subarray(0, 30)),
  '/too-short': (response) => {
    response.writeHead(200, { 'content-length': '500' }).write('short');
    setTimeout(() => response.socket.destroy(), 20);
  },
  '/too-long': (response) => response.socket.end('HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nlonger than told'),
  '/giant-headers': (response) => response.writeHead(200, { 'x-giant': 'h'.repeat(64 * 1024) }).end('headers'),
  '/large-headers': (response) => response.writeHead(200, { 'x-large': 'h'.repeat(12 * 1024) }).end('headers'),
  '/no-json': (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"half":'),
  '/bad-utf8': (response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(Buffer.from([34, 255, 254, 34])),
  '/bad-events': (response) =>
    response
      .writeHead(200, { 'content-type': 'text/event-stream' })
      .end('data: {"half\n\nevent: \ndata\n\n: \r\r\ndata: [DO'),
  '/hang-up': (response) => response.socket.destroy(),
  '/teapot': (response) => response.writeHead(418, 'short and stout').end(),
  '/redirect': (response) => response.writeHead(302, { location: '/empty' }).end(),
  '/loop': (response) => response.writeHead(302, { location: '/loop' }).end(),
};

/** Starts it on a free port; `stop` may be called twice. */
export async function startGarbageProvider() {
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (piece) => (body += piece));
    request.on('end', () => answer(request.url, body, response));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = async () => {
    server.closeAllConnections();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  return { origin: `http://127.0.0.1:${server.address().port}`, stop };
}

function answer(path, body, response) {
  if (ANSWERS[path]) return ANSWERS[path](response);
  if (path !== '/chunks')
    return response.writeHead(200, { 'content-type': 'application/json' }).end(`{"asked":${JSON.stringify(body)}}`);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (index) => {
    if (index === 10_000) return response.end();
    response.write(`data: {"n":${index}}\n\n`);
    return index % 100 === 99 ? setImmediate(send, index + 1) : send(index + 1);
  };
  return send(0);
}

/** The paths it answers wrongly. */
export const GARBAGE_PATHS = Object.keys(ANSWERS).filter((path) => path !== '/too-long');
