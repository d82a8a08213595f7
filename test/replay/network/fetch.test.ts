import { chunked, json, scriptedNetwork, type Script, type ScriptedNetwork } from './scripted-network';

describe('built-in fetch on the virtual network', () => {
  let network: ScriptedNetwork | undefined;
  const install = (script: Script): ScriptedNetwork => (network = scriptedNetwork(script));

  afterEach(() => network?.uninstall());

  it('gets the scripted answer from a host that does not exist', async () => {
    install(json({ hello: 'world' }));
    const response = await fetch('http://model.invalid/v1/models');
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ hello: 'world' });
  });

  it('hands over method, URL, headers and body, without the correlation header', async () => {
    const { calls } = install(json({}));
    await fetch('https://model.invalid/v1/chat?x=1', {
      method: 'POST',
      body: '{"a":1}',
      headers: { 'X-Reenact-Call': 'c7', 'content-type': 'application/json' },
    });
    const [call] = calls;
    expect(call?.correlation).toBe('c7');
    expect(call?.request.method).toBe('POST');
    expect(call?.request.url).toBe('https://model.invalid/v1/chat?x=1');
    expect(call?.request.body.toString()).toBe('{"a":1}');
    const names = call?.request.headers.map(([name]) => name.toLowerCase());
    expect(names).toContain('content-type');
    expect(names).not.toContain('x-reenact-call');
  });

  it('reads a stream in the pieces in which it is given', async () => {
    const pieces = ['data: one\n\n', 'data: two\n\n', 'data: three\n\n'];
    install(chunked(pieces));
    const response = await fetch('http://model.invalid/stream');
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const got: string[] = [];
    for (let step = await reader.read(); !step.done; step = await reader.read()) {
      got.push(Buffer.from(step.value).toString());
    }
    expect(got).toEqual(pieces);
  });
});
