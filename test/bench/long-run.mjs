// Memory and listeners of a long run: N calls one after another, recorded and (with --replay) replayed.
//
//   node test/bench/long-run.mjs [--calls 10000] [--node PATH] [--replay]
//
// Prints the heap after a collection at every tenth of the run, and fails where the last tenth is more than 10 % above
// the first one after warm-up, or where listeners have grown.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const { values: options } = parseArgs({
  options: {
    calls: { type: 'string', default: '10000' },
    node: { type: 'string', default: process.execPath },
    replay: { type: 'boolean', default: false },
  },
});
const calls = Number(options.calls);

const PROGRAM = `
const steps = ${calls / 10};
const listeners = () => ['exit', 'beforeExit', 'uncaughtException', 'unhandledRejection', 'SIGTERM', 'SIGINT', 'warning']
  .reduce((sum, name) => sum + process.listenerCount(name), 0);
for (let call = 1; call <= ${calls}; call += 1) {
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'question ' + call + 'x'.repeat(1000) }] });
  const answer = await fetch(process.env.BASE + '/v1/chat/completions', { method: 'POST', body });
  await answer.json();
  if (call % steps !== 0) continue;
  globalThis.gc(); await new Promise(setImmediate); globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  process.stderr.write('sample ' + JSON.stringify({ call, heap: heapUsed, external, listeners: listeners() }) + '\\n');
}
`;

function run(args, env) {
  return new Promise((resolve) => {
    const child = spawn(options.node, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'pipe'] });
    let stderr = '';
    child.stderr.on('data', (piece) => (stderr += piece));
    child.on('close', (code) => resolve({ code, stderr }));
  });
}

/** Prints the samples of one run; true where memory and listeners stayed flat. */
function report(name, { code, stderr }, seconds) {
  const samples = [...stderr.matchAll(/^sample (.*)$/gm)].map(([, json]) => JSON.parse(json));
  const megabytes = (sample) => ((sample.heap + sample.external) / 1e6).toFixed(2);
  console.log(`${name}: exit ${code}, ${seconds.toFixed(1)} s, MB ${samples.map(megabytes).join(' ')}`);
  console.log(`  listeners ${samples.map(({ listeners }) => listeners).join(' ')}`);
  const summary = /^reenact: .*$/m.exec(stderr)?.[0];
  if (summary !== undefined) console.log(`  ${summary}`);
  const [first, last] = [samples[0], samples.at(-1)];
  if (samples.length !== 10) return false;
  return megabytes(last) <= megabytes(first) * 1.1 && last.listeners === first.listeners;
}

const folder = mkdtempSync(join(tmpdir(), 'reenact-long-run-'));
const program = join(folder, 'program.mjs');
writeFileSync(program, PROGRAM);
let served = 0;
const server = createServer((request, response) => {
  request.resume().on('end', () => {
    served += 1;
    response.writeHead(200, { 'content-type': 'application/json' });
    const message = { role: 'assistant', content: `answer ${served} ${'y'.repeat(1000)}` };
    response.end(JSON.stringify({ id: `chatcmpl-${served}`, model: 'm', choices: [{ index: 0, message }] }));
  });
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const env = { BASE: `http://127.0.0.1:${server.address().port}`, REENACT_DIR: join(folder, 'store') };
const timed = async (name, args) => {
  const started = performance.now();
  const result = await run(args, env);
  return report(name, result, (performance.now() - started) / 1000);
};
await timed('without', ['--expose-gc', program]);
const register = join(root, 'dist/instrumentation/register.js');
let flat = await timed('recorded', ['--expose-gc', '--require', register, program]);
server.closeAllConnections();
await new Promise((resolve) => server.close(resolve));
if (options.replay) {
  const args = [join(root, 'bin/reenact.js'), 'replay', 'last', '--', options.node, '--expose-gc', program];
  // The log itself is held in memory: what counts is that a replay does not add to it call by call.
  flat = (await timed('replayed', args)) && flat;
}
rmSync(folder, { recursive: true, force: true });
process.exitCode = flat ? 0 : 1;
