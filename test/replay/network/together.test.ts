import http from 'node:http';
import { scriptedNetwork, type ScriptedNetwork } from './scripted-network';

/** What a client sees in each turn of the event loop. */
function turns(url: string): Promise<string[][]> {
  return new Promise((resolve, reject) => {
    const seen: string[][] = [];
    const see = (what: string): void => {
      if (now === undefined) {
        seen.push((now = []));
        setImmediate(() => (now = undefined));
      }
      now.push(what);
    };
    let now: string[] | undefined;
    const outgoing = http.get(url, { agent: false }, (response) => {
      see('head');
      response.on('data', (bytes: Buffer) => see(bytes.toString()));
      response.on('end', () => {
        see('end');
        resolve(seen);
      });
    });
    outgoing.on('error', reject);
  });
}

describe('pieces of an answer', () => {
  let network: ScriptedNetwork | undefined;
  afterEach(() => network?.uninstall());
  const CHUNKED = [['transfer-encoding', 'chunked']] as const;
  const LENGTH = [['content-length', '2']] as const;

  it.each([
    ['apart when given apart', CHUNKED, false, [['head'], ['a'], ['b'], ['end']]],
    ['in one turn when given together', CHUNKED, true, [['head', 'a', 'b', 'end']]],
    [
      'as separate data events also without chunked coding',
      LENGTH,
      true,
      [
        ['head', 'a'],
        ['b', 'end'],
      ],
    ],
  ])('arrive %s', async (_how, headers, isTogether, expected) => {
    network = scriptedNetwork(({ responder }) => {
      const give = (): void => {
        responder.head({ status: 200, statusText: 'OK', headers });
        responder.chunk(Buffer.from('a'));
        responder.chunk(Buffer.from('b'));
        responder.end();
      };
      if (isTogether) responder.together(give);
      else give();
    });
    expect(await turns('http://model.invalid/')).toEqual(expected);
  });

  it('leave the connection to the next request when given together', async () => {
    network = scriptedNetwork(({ responder }) => {
      responder.together(() => {
        responder.head({ status: 200, statusText: 'OK', headers: LENGTH });
        responder.chunk(Buffer.from('ok'));
        responder.end();
      });
    });
    const agent = new http.Agent({ keepAlive: true });
    for (let at = 0; at < 3; at += 1) {
      await new Promise((resolve) => {
        http.get('http://model.invalid/', { agent }, (response) => response.resume().on('close', resolve));
      });
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(network.calls).toHaveLength(3);
    expect(network.targets).toHaveLength(1);
    agent.destroy();
  });
});
