import { Writable } from 'node:stream';
import { Agent, Pool, ProxyAgent, fetch as undiciFetch, request, stream } from 'undici';
import { chunked, json, scriptedNetwork, type Script, type ScriptedNetwork } from './scripted-network';

describe('undici of the registry on the virtual network', () => {
  let network: ScriptedNetwork | undefined;
  const install = (script: Script, options = {}): ScriptedNetwork => (network = scriptedNetwork(script, options));
  const pieces = ['one', 'two', 'three'];

  afterEach(() => network?.uninstall());

  it('requests, chunk by chunk', async () => {
    install(chunked(pieces));
    const { statusCode, body } = await request('http://model.invalid/');
    const got: string[] = [];
    for await (const bytes of body) got.push(String(bytes));
    expect(statusCode).toBe(200);
    expect(got).toEqual(pieces);
  });

  it('streams into a writable, chunk by chunk', async () => {
    install(chunked(pieces));
    const got: string[] = [];
    await stream('https://model.invalid/', { method: 'GET' }, () => {
      return new Writable({
        write: (bytes: Buffer, _encoding, done) => {
          got.push(bytes.toString());
          done();
        },
      });
    });
    expect(got).toEqual(pieces);
  });

  it('fetches with an agent that would speak HTTP/2', async () => {
    install(json({ a: 1 }));
    const dispatcher = new Agent({ allowH2: true });
    expect(await (await undiciFetch('https://model.invalid/', { dispatcher })).json()).toEqual({ a: 1 });
    await dispatcher.close();
  });

  it('gets pipelined answers in the order of its requests, however they are given', async () => {
    const held: (() => void)[] = [];
    install((call, index) => {
      if (index === 0) return json({})(call, index);
      held.push(() => json({ path: new URL(call.request.url).pathname })(call, index));
      if (held.length === 3) for (const answer of held.reverse()) answer();
    });
    const pool = new Pool('http://model.invalid', { connections: 1, pipelining: 3 });
    const get = async (path: string): Promise<unknown> =>
      (await pool.request({ path, method: 'GET', blocking: false })).body.json();

    // undici sends ahead only where an answer has come before.
    await get('/first');
    const answers = ['/a', '/b', '/c'].map(get);
    expect(await Promise.all(answers)).toEqual([{ path: '/a' }, { path: '/b' }, { path: '/c' }]);
    expect(network?.targets).toHaveLength(1);
    await pool.close();
  });

  it('closes cleanly with idle connections', async () => {
    install(json({}));
    const agent = new Agent();
    await (await request('http://model.invalid/', { dispatcher: agent })).body.json();
    expect(network?.openConnections).toBe(1);
    await agent.close();
    await new Promise((resolve) => setImmediate(resolve));
    expect(network?.openConnections).toBe(0);
  });

  it('reports a refused connection with its code', async () => {
    install(json({}), { verdict: () => ({ refuse: { code: 'ENOTFOUND' } }) });
    await expect(request('http://model.invalid/')).rejects.toMatchObject({
      message: 'getaddrinfo ENOTFOUND model.invalid',
      code: 'ENOTFOUND',
      errno: -3008,
      syscall: 'getaddrinfo',
      hostname: 'model.invalid',
    });
  });

  it.each(['http', 'https'])('goes through a proxy to an %s origin', async (scheme) => {
    const { calls } = install(json({ through: 'proxy' }));
    const dispatcher = new ProxyAgent({ uri: 'http://proxy.invalid:3128', proxyTunnel: true });
    const { body } = await request(`${scheme}://model.invalid/x`, { dispatcher });
    expect(await body.json()).toEqual({ through: 'proxy' });
    expect(calls.map((call) => call.request.url)).toEqual([`${scheme}://model.invalid/x`]);
    expect(network?.targets.map(({ host }) => host)).toEqual(['proxy.invalid', 'model.invalid']);
    await dispatcher.close();
  });
});
