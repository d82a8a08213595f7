import { get } from 'node:http';
import net from 'node:net';
import { networkError } from '../../../replay/network/network-fault';
import { json, scriptedNetwork, type ScriptedNetwork } from './scripted-network';

const TARGET = { host: 'localhost', port: 9, tls: false };

describe('faults of the network', () => {
  it('of a name with two addresses are an AggregateError as Node raises it', () => {
    const error = networkError({ code: 'ECONNREFUSED', name: 'AggregateError', message: '' }, TARGET, '127.0.0.1');
    expect(error).toBeInstanceOf(AggregateError);
    expect({ ...error }).toEqual({ code: 'ECONNREFUSED' });
    expect(error.errors.map(({ message }) => message as string)).toEqual([
      'connect ECONNREFUSED ::1:9',
      'connect ECONNREFUSED 127.0.0.1:9',
    ]);
  });

  it('take address and syscall from the recorded message', () => {
    const error = networkError({ code: 'EHOSTUNREACH', message: 'connect EHOSTUNREACH 192.0.2.1:9' }, TARGET, 'x');
    expect({ ...error }).toEqual({
      errno: -113,
      code: 'EHOSTUNREACH',
      syscall: 'connect',
      address: '192.0.2.1',
      port: 9,
    });
  });

  it('of libraries keep their name and code', () => {
    const fault = { code: 'UND_ERR_CONNECT_TIMEOUT', name: 'ConnectTimeoutError', message: 'Connect Timeout Error' };
    expect(networkError(fault, TARGET, '127.0.0.1')).toMatchObject(fault);
  });
});

describe('what the virtual network does not play', () => {
  let network: ScriptedNetwork;
  afterEach(() => network.uninstall());

  it('refuses a recorded upgrade with an answer, and says so', async () => {
    network = scriptedNetwork(({ responder }) => {
      responder.head({ status: 101, statusText: 'Switching Protocols', headers: [['upgrade', 'websocket']] });
    });
    const status = await new Promise((resolve) => {
      get('http://model.invalid/live', { headers: { connection: 'upgrade', upgrade: 'websocket' } }, (response) => {
        resolve(response.statusCode);
        response.resume();
      });
    });
    expect(status).toBe(501);
    expect(network.blocked).toEqual(['websocket over http://model.invalid/live']);
  });

  it('breaks off what is not HTTP, and says so', async () => {
    network = scriptedNetwork(json({}));
    const code = await new Promise((resolve) => {
      const socket = net.connect(5432, 'db.invalid', () => socket.write('\0\0\0\u0008\u0004\u00d2\u0016/'));
      socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code));
    });
    expect(code).toBe('ECONNRESET');
    expect(network.blocked).toEqual(['a protocol other than HTTP/1.1 to http://db.invalid:5432']);
  });

  it('keeps a recorded header from becoming two', async () => {
    network = scriptedNetwork(({ responder }) => {
      responder.head({
        status: 200,
        statusText: 'O\r\nK',
        headers: [
          ['x', 'a\r\ny: b'],
          ['content-length', '0'],
        ],
      });
      responder.end();
    });
    const response = await fetch('http://model.invalid/');
    expect([...response.headers]).toEqual([
      ['content-length', '0'],
      ['x', 'a  y: b'],
    ]);
  });
});
