import dns, { promises as dnsPromises } from 'node:dns';
import { createServer, get } from 'node:http';
import net, { type AddressInfo, type LookupFunction } from 'node:net';
import { promisify } from 'node:util';
import { json, scriptedNetwork, type ScriptedNetwork } from './scripted-network';

const ORIGINAL = { lookup: dns.lookup, connect: net.Socket.prototype.connect };

describe('names on the virtual network', () => {
  let network: ScriptedNetwork;
  beforeEach(() => {
    network = scriptedNetwork(json({}));
  });
  afterEach(() => network.uninstall());

  it('stand for one address, in every form of lookup', async () => {
    const address = '203.0.113.1';
    const called = await new Promise((resolve) => {
      dns.lookup('model.invalid', (error, found, family) => resolve([error, found, family]));
    });
    expect(called).toEqual([null, address, 4]);
    expect(await dnsPromises.lookup('model.invalid')).toEqual({ address, family: 4 });
    expect(await promisify(dns.lookup)('model.invalid')).toEqual({ address, family: 4 });
    expect(await dnsPromises.lookup('model.invalid', { all: true })).toEqual([{ address, family: 4 }]);
    expect(await dnsPromises.lookup('model.invalid', 6)).toEqual({ address: '2001:db8::1', family: 6 });
  });

  it('are themselves when they are addresses, and local when they are local', async () => {
    expect(await dnsPromises.lookup('192.0.2.7')).toEqual({ address: '192.0.2.7', family: 4 });
    expect(await dnsPromises.lookup('::1')).toEqual({ address: '::1', family: 6 });
    expect(await dnsPromises.lookup('localhost')).toEqual({ address: '127.0.0.1', family: 4 });
  });

  it('are asked of no name server', async () => {
    await expect(dnsPromises.resolveTxt('model.invalid')).rejects.toMatchObject({ code: 'REPLAY_BLOCKED' });
    await expect(new dnsPromises.Resolver().resolve4('model.invalid')).rejects.toMatchObject({
      code: 'REPLAY_BLOCKED',
    });
    const error = await new Promise((resolve) => new dns.Resolver().resolveMx('model.invalid', resolve));
    expect(error).toMatchObject({ code: 'REPLAY_BLOCKED' });
    expect(network.blocked).toEqual([
      'dns.promises.resolveTxt model.invalid',
      'dns.promises.resolve4 model.invalid',
      'dns.resolveMx model.invalid',
    ]);
  });

  it('reach the lookup of the program', async () => {
    const asked: string[] = [];
    const lookup: LookupFunction = (name, _options, done) => {
      asked.push(name);
      setImmediate(() => done(null, '192.0.2.9', 4));
    };
    const remote = await new Promise((resolve, reject) => {
      get('http://model.invalid/', { lookup }, (response) => {
        resolve(response.socket.remoteAddress);
        response.resume();
      }).on('error', reject);
    });
    expect(asked).toEqual(['model.invalid']);
    expect(remote).toBe('192.0.2.9');
  });

  it('are resolved for real in our own calls, and again after uninstall', async () => {
    expect(await network.real(() => dnsPromises.lookup('127.0.0.2'))).toEqual({ address: '127.0.0.2', family: 4 });
    network.uninstall();
    expect(dns.lookup).toBe(ORIGINAL.lookup);
    expect(net.Socket.prototype.connect).toBe(ORIGINAL.connect);
  });

  it('give way to a real connection where the verdict says so', async () => {
    const server = createServer((_request, response) => response.end('real'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    for (const verdict of [{ pass: true } as const, Promise.resolve({ pass: true } as const)]) {
      network.uninstall();
      network = scriptedNetwork(json({}), { verdict: () => verdict });
      expect(await (await fetch(`http://localhost:${port}/`)).text()).toBe('real');
      expect(network.calls).toEqual([]);
    }
    network.uninstall();
    server.closeAllConnections();
    server.close();
  });
});
