import http, { type IncomingMessage, type RequestOptions } from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { chunked, json, scriptedNetwork, type Script, type ScriptedNetwork } from './scripted-network';

interface Answer {
  readonly response: IncomingMessage;
  readonly chunks: string[];
}

function send(url: string, options: RequestOptions = {}, body?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { request } = url.startsWith('https:') ? https : http;
    const outgoing = request(url, options, (response) => {
      const chunks: string[] = [];
      response.on('data', (bytes: Buffer) => chunks.push(bytes.toString()));
      response.on('error', reject);
      response.on('end', () => resolve({ response, chunks }));
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

describe('node:http on the virtual network', () => {
  let network: ScriptedNetwork | undefined;
  const install = (script: Script, options = {}): ScriptedNetwork => (network = scriptedNetwork(script, options));

  afterEach(() => network?.uninstall());

  it('gets status text and headers in their order, case and number, with nothing added', async () => {
    install(({ responder }) => {
      responder.head({
        status: 299,
        statusText: 'Rather Odd',
        headers: [
          ['X-B', '1'],
          ['set-cookie', 'a=1'],
          ['X-b', '2'],
          ['Set-Cookie', 'b=2'],
          ['CONTENT-LENGTH', '2'],
        ],
      });
      responder.chunk(Buffer.from('ok'));
      responder.end();
    });
    const { response, chunks } = await send('http://model.invalid/');
    expect(response.statusCode).toBe(299);
    expect(response.statusMessage).toBe('Rather Odd');
    expect(response.rawHeaders).toEqual([
      'X-B',
      '1',
      'set-cookie',
      'a=1',
      'X-b',
      '2',
      'Set-Cookie',
      'b=2',
      'CONTENT-LENGTH',
      '2',
    ]);
    expect(chunks).toEqual(['ok']);
  });

  it('gets each chunk as a data event of its own, also with a content length', async () => {
    install(({ responder }) => {
      responder.head({ status: 200, statusText: 'OK', headers: [['content-length', '6']] });
      for (const piece of ['ab', 'cd', 'ef']) responder.chunk(Buffer.from(piece));
      responder.end();
    });
    expect((await send('http://model.invalid/')).chunks).toEqual(['ab', 'cd', 'ef']);
  });

  it('gets trailers', async () => {
    install(({ responder }) => {
      responder.head({ status: 200, statusText: 'OK', headers: [['transfer-encoding', 'chunked']] });
      responder.chunk(Buffer.from('x'));
      responder.end([['X-Sum', 'abc']]);
    });
    expect((await send('http://model.invalid/')).response.rawTrailers).toEqual(['X-Sum', 'abc']);
  });

  it('keeps one connection for many requests of a keep-alive agent', async () => {
    const { targets } = install(json({}));
    const agent = new https.Agent({ keepAlive: true, maxSockets: 1 });
    for (let at = 0; at < 5; at += 1) await send('https://model.invalid/', { agent });
    expect(targets).toEqual([{ host: 'model.invalid', port: 443, tls: true }]);
    agent.destroy();
  });

  it('sees a refused connection with the message, code and address of a real one', async () => {
    install(json({}), { verdict: () => ({ refuse: { code: 'ECONNREFUSED' } }) });
    const virtual = await send('http://127.0.0.1:9/').catch((error: unknown) => error);
    network?.uninstall();
    const real = await send('http://127.0.0.1:9/').catch((error: unknown) => error);
    expect({ ...(virtual as object) }).toEqual({ ...(real as object) });
    expect((virtual as Error).message).toBe((real as Error).message);
    expect((virtual as Error).message).toBe('connect ECONNREFUSED 127.0.0.1:9');
  });

  it('sees a reset in the middle of a body as Node reports it', async () => {
    install(({ responder }) => {
      responder.head({ status: 200, statusText: 'OK', headers: [['transfer-encoding', 'chunked']] });
      responder.chunk(Buffer.from('part'));
      responder.destroy('ECONNRESET');
    });
    await expect(send('http://model.invalid/')).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  it('tells the responder that the client is gone', async () => {
    let closed = false;
    await new Promise<void>((resolve) => {
      install(({ responder }) => {
        responder.head({ status: 200, statusText: 'OK', headers: [['transfer-encoding', 'chunked']] });
        responder.onClose(() => {
          closed = responder.closed;
          resolve();
        });
      });
      const outgoing = http.get('http://model.invalid/', () => outgoing.destroy());
      outgoing.on('error', () => undefined);
    });
    expect(closed).toBe(true);
  });

  it('leaves the program real sockets of the right class', async () => {
    install(chunked(['a', 'b']));
    const socket = await new Promise<net.Socket>((resolve) => {
      http.get('http://model.invalid/', (response) => {
        resolve(response.socket);
        response.resume();
      });
    });
    expect(socket).toBeInstanceOf(net.Socket);
    expect(socket.remotePort).toBe(80);
  });
});
