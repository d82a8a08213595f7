import { FETCH_SCENARIOS, REQUEST_SCENARIOS, SOCKET_SCENARIOS, type Scenario } from './client-scenarios';
import { installVirtualNetwork, type VirtualNetwork } from '../../../replay/network/virtual-network';
import { playVirtually, startRealServer } from './wire-answers';

/** Whatever a client sees of a real server that writes these bytes, it must see of the virtual one. */
describe.each([
  ['a plain socket', SOCKET_SCENARIOS],
  ['node:http', REQUEST_SCENARIOS],
  ['built-in fetch', FETCH_SCENARIOS],
])('%s sees the same of the virtual network as of a real server when it', (_client, scenarios) => {
  let port: number;
  let network: VirtualNetwork;
  const real = new Map<string, unknown[]>();

  beforeAll(async () => {
    const server = await startRealServer();
    port = server.port;
    for (const [name, run] of Object.entries(scenarios)) real.set(name, await run(port));
    await server.close();
    network = installVirtualNetwork({
      correlationHeader: 'x-reenact-call',
      onCall: playVirtually,
      onConnect: () => ({ accept: true }),
    });
  });
  afterAll(() => network.uninstall());

  it.each(Object.entries<Scenario>(scenarios))('%s', async (name, run) => {
    expect(await run(port)).toEqual(real.get(name));
  });
});
