import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = resolve(__dirname, '../..');
const bin = join(root, 'bin/reenact.js');

/** Runs a TypeScript program while it is recorded and in a replay without its server; gives what both printed. */
async function printed(program: string): Promise<{ recorded: string; replayed: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'reenact-same-output-'));
  const server = http.createServer((request, response) => {
    request.resume();
    const answer = (): unknown => response.writeHead(400, { 'content-type': 'application/json' }).end('{"no":1}');
    setTimeout(answer, 20);
  });
  try {
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'program.ts'), program);
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
    // The cache of the loader lies in the folder for temporary files: cold for the recording, warm for the replay.
    const env = {
      ...process.env,
      TMPDIR: folder,
      REENACT_DIR: join(folder, '.reenact'),
      URL_UNDER_TEST: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    };
    const command = [process.execPath, '--import', 'tsx', 'program.ts'];
    const record = await run(process.execPath, [bin, 'record', '--', ...command], { cwd: folder, env });
    await new Promise((closed) => server.close(closed));
    const replay = await run(process.execPath, [bin, 'replay', 'last'], { cwd: folder, env }).catch(
      // An unfaithful replay ends with 1; what it printed says more.
      (failed: { stdout: string }) => failed,
    );
    return { recorded: record.stdout, replayed: replay.stdout };
  } finally {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

test('times are those of the recording though the TypeScript loader finds its cache warm', async () => {
  const { recorded, replayed } = await printed(`
    const start = Date.now();
    console.log(start);
    const wait = new Int32Array(new SharedArrayBuffer(4));
    const reads = [];
    for (let i = 0; i < 5; i++) {
      Atomics.wait(wait, 0, 0, 7);
      reads.push(Date.now());
    }
    fetch(process.env.URL_UNDER_TEST).then(() => console.log(reads, Date.now() - start));
  `);
  expect(replayed).toBe(recorded);
}, 120_000);

test('the stack of an error after an answer is that of the recording', async () => {
  const { recorded, replayed } = await printed(`
    async function ask() {
      const response = await fetch(process.env.URL_UNDER_TEST);
      const body = await response.json();
      throw new Error('status ' + response.status + JSON.stringify(body));
    }
    async function main() {
      for (let i = 0; i < 3; i++)
        await Promise.all([ask(), ask()].map((asked) => asked.catch((error) => console.log(error.stack))));
    }
    main();
  `);
  expect(recorded).toMatch(/Error: status 400/);
  expect(replayed).toBe(recorded);
}, 120_000);

test('a program that is done comes to its end before timers that do not hold it fire', async () => {
  const { recorded, replayed } = await printed(`
    setTimeout(() => console.log('loop'), 3_000).unref();
    process.once('beforeExit', () => {
      console.log('end');
      setTimeout(() => console.log('sent'), 4_000);
    });
    fetch(process.env.URL_UNDER_TEST).then(() => console.log('answered'));
  `);
  expect(recorded).toBe('answered\nend\nloop\nsent\n');
  expect(replayed).toBe(recorded);
}, 120_000);

test('a timer that does not hold the program fires while something else does', async () => {
  const { recorded, replayed } = await printed(`
    const server = require('node:net').createServer().listen(0, '127.0.0.1');
    const beat = setInterval(() => console.log('beat'), 30);
    beat.unref();
    fetch(process.env.URL_UNDER_TEST).then(() => {
      setTimeout(() => server.close(), 100).unref();
    });
  `);
  expect(recorded).toMatch(/^(beat\n)+$/);
  expect(replayed).toBe(recorded);
}, 120_000);

test('temporary folders have the names that they had in the recording', async () => {
  const { recorded, replayed } = await printed(`
    const { mkdtempSync, rmdirSync } = require('node:fs');
    const { join } = require('node:path');
    const { tmpdir } = require('node:os');
    const folder = mkdtempSync(join(tmpdir(), 'work-'));
    fetch(process.env.URL_UNDER_TEST, { method: 'POST', body: 'You can edit files in ' + folder }).then((response) => {
      console.log(folder, response.status);
      rmdirSync(folder);
    });
  `);
  expect(recorded).toMatch(/work-\w{6} 400/);
  expect(replayed).toBe(recorded);
}, 120_000);

test('a refused connection is printed as it was when it was recorded', async () => {
  const { recorded, replayed } = await printed(`
    const http = require('node:http');
    const refused = process.env.URL_UNDER_TEST.replace(/:\\d+/, ':61999');
    fetch(process.env.URL_UNDER_TEST)
      .then(() => fetch(refused))
      .catch((error) => {
        console.log(error.cause);
        http.get(refused).on('error', (again) => console.log(again));
      });
  `);
  expect(recorded.match(/ECONNREFUSED 127.0.0.1:61999\n {4}at TCPConnectWrap/g)).toHaveLength(2);
  expect(replayed).toBe(recorded);
}, 120_000);
