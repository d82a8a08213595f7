import http2 from 'node:http2';
import https from 'node:https';
import net from 'node:net';
import tls, { type TLSSocket } from 'node:tls';
import { json, scriptedNetwork, type ScriptedNetwork } from './scripted-network';

describe('TLS on the virtual network', () => {
  let network: ScriptedNetwork;
  beforeEach(() => {
    network = scriptedNetwork(json({}));
  });
  afterEach(() => network.uninstall());

  const connected = (options: tls.ConnectionOptions): Promise<TLSSocket> =>
    new Promise((resolve, reject) => {
      const socket = tls.connect({ host: 'model.invalid', port: 443, ...options }, () => resolve(socket));
      socket.on('error', reject);
    });

  it('gives a socket of the right class that claims to be safe, without keys or certificates', async () => {
    const socket = await connected({ servername: 'model.invalid', ALPNProtocols: ['h2', 'http/1.1'] });
    expect(socket).toBeInstanceOf(tls.TLSSocket);
    expect(socket).toBeInstanceOf(net.Socket);
    expect(socket).toMatchObject({ encrypted: true, authorized: true, alpnProtocol: 'http/1.1' });
    expect(socket.getProtocol()).toBe('TLSv1.3');
    expect(socket.getPeerCertificate().subject.CN).toBe('model.invalid');
    expect(tls.checkServerIdentity('model.invalid', socket.getPeerCertificate())).toBeUndefined();
    socket.destroy();
  });

  it('emits the events of a handshake in their order', async () => {
    const seen: string[] = [];
    const socket = tls.connect(443, 'model.invalid');
    for (const event of ['lookup', 'connect', 'ready', 'secureConnect', 'close'])
      socket.on(event, () => seen.push(event));
    await new Promise((resolve) => {
      socket.on('secureConnect', () => socket.end());
      socket.on('close', resolve);
    });
    expect(seen).toEqual(['lookup', 'connect', 'ready', 'secureConnect', 'close']);
  });

  it('serves a request through a socket made by hand', async () => {
    const createConnection = (): net.Socket => tls.connect({ host: 'model.invalid', port: 8443 });
    const body = await new Promise<string>((resolve) => {
      https.get('https://model.invalid:8443/x', { createConnection, agent: false }, (response) => {
        response.setEncoding('utf8').on('data', resolve);
      });
    });
    expect(body).toBe('{}');
    expect(network.calls[0]?.request.url).toBe('https://model.invalid:8443/x');
  });

  it('fails as without a common protocol when only HTTP/2 is offered, and says so', async () => {
    await expect(connected({ ALPNProtocols: ['h2'] })).rejects.toMatchObject({
      code: 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL',
    });
    expect(network.blocked).toEqual(['HTTP/2 to https://model.invalid']);
  });

  it('ends an HTTP/2 session without TLS, and says so', async () => {
    const session = http2.connect('http://model.invalid');
    const closed = new Promise((resolve) => session.on('close', resolve));
    session.on('error', () => undefined);
    session.request({ ':path': '/' }).on('error', () => undefined);
    await closed;
    expect(network.blocked).toEqual(['HTTP/2 to http://model.invalid']);
  });

  it('reports a recorded failure of the handshake with its code and message', async () => {
    network.uninstall();
    const fault = { code: 'DEPTH_ZERO_SELF_SIGNED_CERT', message: 'self-signed certificate' };
    network = scriptedNetwork(json({}), { verdict: () => ({ refuse: fault }) });
    await expect(fetch('https://model.invalid/')).rejects.toMatchObject({ message: 'fetch failed', cause: fault });
  });
});
