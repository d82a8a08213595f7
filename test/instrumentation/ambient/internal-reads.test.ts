import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listRuns, readRun } from '../../../exporter/local-store';
import { readAmbient } from '../../../instrumentation/schema/ambient-log';

const register = join(__dirname, '../../../dist/instrumentation/register.js');

/** Runs a program under recording; what it prints. */
function run(program: string, env: Record<string, string> = { REENACT_SPOOL: 'off' }): string {
  return execFileSync(process.execPath, ['--require', register, '-e', program], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
}

const SERVER = `
  const http = require('node:http');
  const answers = { '/body': [200, 'x'], '/none': [204, undefined] };
  const server = http.createServer((request, response) => {
    const [status, body] = answers[request.url];
    response.writeHead(status).end(body);
  }).listen(0, '127.0.0.1', () => main('http://127.0.0.1:' + server.address().port).finally(() => server.close()));
  server.keepAliveTimeout = 1;
`;

test('stream.finished stays the original for the program after fetch was used', () => {
  const output = run(`
    const { finished } = require('node:stream');
    async function main(base) {
      await (await fetch(base + '/body')).text();
      console.log(require('node:stream').finished === finished);
    }
    ${SERVER}`);
  expect(output).toBe('true\n');
});

test('no stack is looked at for the clock reads of a program that fetches bodies', () => {
  const output = run(`
    let looks = 0;
    async function main(base) {
      await (await fetch(base + '/body')).text();
      const capture = Error.captureStackTrace;
      Error.captureStackTrace = (...args) => { looks += 1; return capture(...args); };
      for (let i = 0; i < 3; i++) { Date.now(); await (await fetch(base + '/body')).text(); Date.now(); }
      console.log(looks);
    }
    ${SERVER}`);
  expect(output).toBe('0\n');
});

test.each(['/body', '/none'])('only the reads of the program are recorded around a fetch of %s', async (path) => {
  const store = mkdtempSync(join(tmpdir(), 'reads-'));
  try {
    run(
      `async function main(base) {
        for (let i = 0; i < 3; i++) { await (await fetch(base + '${path}')).text(); Date.now(); }
      }
      ${SERVER}`,
      { REENACT_DIR: store },
    );
    const recording = await readRun(store, listRuns(store)[0]?.runId ?? '');
    const streams = [...readAmbient(recording.ambient.map(({ lines }) => lines)).values()];
    expect(streams.flatMap(({ date }) => date)).toHaveLength(3);
  } finally {
    rmSync(store, { recursive: true, force: true });
  }
});
