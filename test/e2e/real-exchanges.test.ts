import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { readLogs } from '../../replay/log/log-file';
import { mergeRecordings } from '../../replay/log/recording-of-log';

const run = promisify(execFile);
const root = resolve(__dirname, '../..');
const folder = process.env['REENACT_WIRE_DIR'] ?? resolve(root, '../shared/wire');
const bin = join(root, 'bin/reenact.js');

interface Message {
  readonly headers?: Record<string, string | string[]>;
  readonly body?: string;
  readonly bodyBase64?: string;
  readonly bodyCompression?: string;
}
interface Exchange {
  readonly file: string;
  readonly request: Message & { readonly url: string; readonly method: string };
  readonly response: Message & { readonly status: number };
}

const bytesOf = ({ body = '', bodyBase64 }: Message): Buffer =>
  bodyBase64 === undefined ? Buffer.from(body) : Buffer.from(bodyBase64, 'base64');
const hash = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

function isOfASdk({ request }: Exchange): boolean {
  return request.method === 'POST' && /\/(chat\/completions|responses|messages)(\?|$)/.test(request.url);
}

const exchanges = existsSync(folder)
  ? readdirSync(folder)
      .filter((name) => name.endsWith('.json'))
      .map((file) => ({ file, ...(JSON.parse(readFileSync(join(folder, file), 'utf8')) as Omit<Exchange, 'file'>) }))
      .filter(isOfASdk)
  : [];
const unlessAbsent = exchanges.length > 0 ? describe : describe.skip;

unlessAbsent('real exchanges through the real SDKs (skipped where no folder of recorded wire traffic is given)', () => {
  let work: string;
  let server: http.Server;
  let env: NodeJS.ProcessEnv;
  /** Exchanges that the SDKs really asked for: two bodies they refuse before sending. */
  const served: number[] = [];

  beforeAll(async () => {
    work = mkdtempSync(join(tmpdir(), 'reenact-real-'));
    server = http.createServer((request, response) => {
      const exchange = exchanges[Number(request.headers['x-exchange'])];
      request.resume().on('end', () => {
        served.push(Number(request.headers['x-exchange']));
        const headers = Object.entries(exchange?.response.headers ?? {}).filter(
          ([name]) =>
            !/^(content-length|transfer-encoding|connection|keep-alive)$/i.test(name) &&
            (exchange?.response.bodyCompression !== undefined || !/^content-encoding$/i.test(name)),
        );
        response.writeHead(exchange?.response.status ?? 500, Object.fromEntries(headers));
        response.end(exchange === undefined ? '' : bytesOf(exchange.response));
      });
    });
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    env = { ...process.env, BASE: base, REENACT_DIR: join(work, 'store'), NO_COLOR: '1' };
    const asked = exchanges.map(({ request }, n) => ({
      n,
      path: new URL(request.url.replace(/<[^>]*>/g, 'x')).pathname,
      body: JSON.parse(bytesOf(request).toString()) as unknown,
    }));
    writeFileSync(join(work, 'asked.json'), JSON.stringify(asked));
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
    rmSync(work, { recursive: true, force: true });
  });

  it('come out of a replay as they came out of the recording, with the bytes of the wire in the log', async () => {
    const program = [process.execPath, join(__dirname, 'programs/real-exchange-client.mjs'), join(work, 'asked.json')];
    const options = { cwd: work, env, maxBuffer: 64 * 1024 * 1024 };
    const recorded = await run(process.execPath, [bin, 'record', '--', ...program], options);
    expect(recorded.stdout.trim().split('\n')).toHaveLength(exchanges.length);
    await run(process.execPath, [bin, 'pull', 'last', '-o', join(work, 'log.jsonl')], options);
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
    const replayed = await run(process.execPath, [bin, 'replay', join(work, 'log.jsonl'), '--', ...program], options);
    expect(replayed.stdout).toBe(recorded.stdout);
    expect(replayed.stderr).toContain(`exact=${served.length} relaxed=0 overridden=0 diverged=0 live=0 unused=0`);

    const calls = mergeRecordings(await readLogs(join(work, 'log.jsonl'))).calls;
    const bodies = calls.map((call) => {
      if (call.kind !== 'llm' && call.kind !== 'http') return [];
      const n = Number(call.request.headers.find(([name]) => name === 'x-exchange')?.[1]);
      return [n, hash(Buffer.concat((call.response?.chunks ?? []).map((chunk) => chunk.bytes)))];
    });
    expect(served.length).toBeGreaterThan(30);
    expect(bodies).toEqual(served.map((n) => [n, hash(bytesOf((exchanges[n] as Exchange).response))]));
  }, 120_000);
});
