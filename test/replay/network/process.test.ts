import { AsyncLocalStorage } from 'node:async_hooks';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { buildSync } from 'esbuild';
import { installVirtualNetwork, type VirtualNetwork } from '../../../replay/network/virtual-network';
import { playVirtually, startRealServer } from './wire-answers';
import { chunked, json, scriptedNetwork, type ScriptedNetwork } from './scripted-network';

const PROGRAM = `
const { installVirtualNetwork } = require('./network.cjs');
installVirtualNetwork({
  correlationHeader: 'x-c',
  onConnect: () => ({ accept: true }),
  onCall: ({ responder }) => {
    responder.head({ status: 200, statusText: 'OK', headers: [['content-length', '2']] });
    responder.chunk(Buffer.from('ok'));
    responder.end();
  },
});
const http = require('node:http');
http.get({ host: 'model.invalid', agent: new http.Agent({ keepAlive: true }) }, (response) => {
  response.resume();
  response.on('end', async () => {
    console.log(await (await fetch('https://model.invalid/')).text());
    console.log(process.getActiveResourcesInfo().filter((name) => /TCP|TLS|DNS|GetAddr/i.test(name)).length);
  });
});
`;

describe('a program on the virtual network', () => {
  const folder = mkdtempSync(join(tmpdir(), 'reenact-network-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('ends by itself with idle connections, and opens no socket of the system', async () => {
    buildSync({
      entryPoints: [resolve(__dirname, '../../../replay/network/virtual-network.ts')],
      outfile: join(folder, 'network.cjs'),
      bundle: true,
      platform: 'node',
    });
    writeFileSync(join(folder, 'program.cjs'), PROGRAM);
    const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'program.cjs')], { timeout: 10_000 });
    expect(stdout).toBe('ok\n0\n');
  });
});

describe('contexts, timers and live calls', () => {
  let network: ScriptedNetwork | VirtualNetwork | undefined;
  afterEach(() => network?.uninstall());

  it('gives each request over a kept connection its own asynchronous context', async () => {
    network = scriptedNetwork(chunked(['a']));
    const context = new AsyncLocalStorage<string>();
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const seen: unknown[] = [];
    const send = (name: string): Promise<void> =>
      context.run(name, async () => {
        await new Promise((done) => {
          http.get('http://model.invalid/', { agent }, (response) => {
            response.on('data', () => seen.push([name, context.getStore()]));
            response.on('close', done);
          });
        });
        await new Promise((done) => setImmediate(done));
      });
    for (const name of ['one', 'two', 'three']) await send(name);
    expect(seen).toEqual([
      ['one', 'one'],
      ['two', 'two'],
      ['three', 'three'],
    ]);
    agent.destroy();
  });

  it('counts the idle time of sockets on the timers it is given', async () => {
    const asked: number[] = [];
    let fire: (() => void) | undefined;
    const timers = {
      setTimeout: ((step: () => void, ms: number) => {
        asked.push(ms);
        fire = step;
        return { unref: () => undefined, refresh: () => undefined };
      }) as unknown as typeof setTimeout,
      clearTimeout: (() => undefined) as typeof clearTimeout,
    };
    network = scriptedNetwork(() => fire?.(), { timers });
    const error = await new Promise((done) => {
      const request = http.get('http://model.invalid/', { timeout: 3_600_000, agent: false }, () => undefined);
      request.on('timeout', () => request.destroy(new Error('an hour has passed')));
      request.on('error', done);
    });
    expect((error as Error).message).toBe('an hour has passed');
    expect(asked).toContain(3_600_000);
  });

  it('makes an allowed live call for real, and leaves the program on the virtual network meanwhile', async () => {
    const server = await startRealServer();
    const connects: number[] = [];
    const installed: VirtualNetwork = installVirtualNetwork({
      correlationHeader: 'x-c',
      onConnect: (target) => {
        connects.push(target.port);
        return { accept: true };
      },
      onCall: (call) => {
        const { responder, request } = call;
        if (connects.length > 1) return playVirtually(call);
        const live = installed.forward(request, {
          head: (head) => responder.head(head),
          chunk: (bytes) => responder.chunk(bytes),
          trailers: (trailers) => responder.end(trailers),
          end: () => responder.end(),
          error: (error) => responder.destroy(error.code),
        });
        responder.onClose(() => live.abort());
      },
    });
    network = installed;
    const texts = await new Promise<string[]>((done) => {
      const got: string[] = [];
      http.get(`http://127.0.0.1:${server.port}/chunks`, { agent: false }, (response) => {
        response.on('data', (bytes: Buffer) => got.push(bytes.toString()));
        response.on('end', () => {
          // Set off by a live answer, but the program's own: it must meet the virtual network.
          http.get(`http://127.0.0.1:${server.port}/length`, { agent: false }, (next) => {
            next.resume().on('end', () => done([...got, ...response.rawTrailers]));
          });
        });
      });
    });
    expect(texts).toEqual(['one', 'two', 'three', 'X-T', 'v']);
    expect(connects).toEqual([server.port, server.port]);
    await server.close();
  });

  it('reports the error of a live call that fails', async () => {
    network = scriptedNetwork(json({}));
    const error = await new Promise<NodeJS.ErrnoException>((done) => {
      const nothing = (): void => undefined;
      network?.forward(
        { method: 'GET', url: 'http://127.0.0.1:9/', headers: [['host', '127.0.0.1:9']], body: Buffer.alloc(0) },
        { head: nothing, chunk: nothing, trailers: nothing, end: nothing, error: done },
      );
    });
    expect(error.code).toBe('ECONNREFUSED');
  });
});
