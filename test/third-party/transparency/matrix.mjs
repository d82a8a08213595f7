// The transparency matrix: every scenario with every client version, as CommonJS, ESM and bundle; without and with
// recording, and replayed with the provider dead. Output, exit code, requests and connections must be the same each
// time, and every call that was opened must have been closed.
//
//   node test/third-party/transparency/matrix.mjs [--node PATH] [--replay-node PATH] [--only TEXT] [--jobs N]
//     [--no-replay] [--clients FOLDER]
//
// FOLDER holds a node_modules with other versions of `openai` and `@anthropic-ai/sdk` than the repository's own.
/* global clearTimeout */
import { build } from 'esbuild';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve as resolvePath } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startProvider } from './provider.mjs';
import { recordedCalls } from './recorded-calls.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../../..');
const register = join(root, 'dist/instrumentation/register.js');
const bin = join(root, 'bin/reenact.js');

const { values: options } = parseArgs({
  options: {
    node: { type: 'string', default: process.execPath },
    'replay-node': { type: 'string' },
    only: { type: 'string' },
    jobs: { type: 'string', default: '2' },
    'no-replay': { type: 'boolean', default: false },
    clients: { type: 'string' },
  },
});
const replayNode = options['replay-node'] ?? options.node;
const clientsFolder = options.clients === undefined ? root : resolvePath(options.clients);
const work = options.clients === undefined ? join(root, 'dist/transparency') : join(clientsFolder, 'transparency');

const CLIENTS = [
  { family: 'openai', sdk: 'openai4' },
  { family: 'openai', sdk: 'openai5' },
  { family: 'openai', sdk: 'openai' },
  { family: 'anthropic', sdk: 'anthropic0' },
  { family: 'anthropic', sdk: '@anthropic-ai/sdk' },
].filter(({ sdk }) => existsSync(join(clientsFolder, 'node_modules', sdk)));

function versionOf(sdk) {
  return JSON.parse(readFileSync(join(clientsFolder, 'node_modules', sdk, 'package.json'), 'utf8')).version;
}
const FORMS = ['cjs', 'esm', 'bundle'];

/** Builds one agent in one form; CommonJS and ESM keep the client as an import of its own. */
async function buildAgent({ family, sdk }, form) {
  const format = form === 'cjs' ? 'cjs' : 'esm';
  const outfile = join(work, `${sdk.replace(/\W+/g, '-')}-${form}.${format === 'cjs' ? 'cjs' : 'mjs'}`);
  const resolveSdk = {
    name: 'sdk',
    setup(builder) {
      builder.onResolve({ filter: /^sdk$/ }, () =>
        form === 'bundle'
          ? builder.resolve(sdk, { resolveDir: clientsFolder, kind: 'import-statement' })
          : { path: sdk, external: true },
      );
    },
  };
  const source = `export {}; import ${JSON.stringify(join(here, `${family}-agent.mjs`))};`;
  const code =
    format === 'cjs'
      ? { stdin: { contents: await wrapped(family), resolveDir: root, loader: 'js' } }
      : { stdin: { contents: source, resolveDir: root, loader: 'js' } };
  await build({
    ...code,
    outfile,
    format,
    bundle: true,
    platform: 'node',
    target: 'node20',
    logLevel: 'error',
    plugins: [resolveSdk],
    // Bundled CommonJS parts call require of built-in modules.
    ...(form === 'bundle' && {
      banner: {
        js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
      },
    }),
  });
  return outfile;
}

/** CommonJS has no top-level await: the body goes into a function, the imports stay outside. */
async function wrapped(family) {
  const { readFile } = await import('node:fs/promises');
  const text = await readFile(join(here, `${family}-agent.mjs`), 'utf8');
  const imports = text.match(/^import .*;$/gm) ?? [];
  return `${imports.join('\n')}\n(async () => {\n${text.replace(/^import .*;$/gm, '')}\n})();`;
}

function run(command, args, env) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: work,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr']) child[name].on('data', (piece) => (output[name] += piece));
    const timer = setTimeout(() => child.kill('SIGKILL'), 30_000);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ code: signal ?? code, ...output });
    });
  });
}

/** Runs `work` over `items`, some at a time. */
async function pool(items, task) {
  const waiting = [...items];
  const lane = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await task(item);
  };
  await Promise.all(Array.from({ length: Number(options.jobs) }, lane));
}

const isSame = (a, b) => a.stdout === b.stdout && a.code === b.code;

/** Runs one program against the provider; what the provider saw meanwhile goes with its output. */
async function watched(args, env, provider) {
  const before = { ...provider.seen };
  const result = await run(options.node, args, { ...env, PROVIDER: provider.origin });
  result.requests = provider.seen.requests - before.requests;
  result.connections = provider.seen.connections - before.connections;
  return result;
}

/**
 * undici 7 opens a second connection now and then, recorded or not: a count is a difference if none of ten runs without
 * recording has it.
 */
async function compareConnections({ file, scenario, plain, recorded, problems }, provider) {
  const seen = new Set([plain.connections]);
  for (let more = 0; more < 9 && !seen.has(recorded.connections); more += 1)
    seen.add((await watched([file, scenario], {}, provider)).connections);
  if (!seen.has(recorded.connections))
    problems.push(['connections', { stderr: `${[...seen].join(' or ')} without, ${recorded.connections} with` }]);
}

async function record(cell, provider) {
  const args = [cell.file, cell.scenario];
  cell.plain = await watched(args, {}, provider);
  cell.store = join(work, 'stores', cell.name.replace(/\W+/g, '-'));
  rmSync(cell.store, { recursive: true, force: true });
  cell.recorded = await watched(['--require', register, ...args], { REENACT_DIR: cell.store }, provider);
  cell.problems = [];
  const { plain, recorded } = cell;
  if (!isSame(plain, recorded)) cell.problems.push(['recorded', recorded]);
  if (recorded.stderr !== plain.stderr) cell.problems.push(['stderr', { stderr: recorded.stderr }]);
  if (plain.requests !== recorded.requests)
    cell.problems.push(['requests', { stderr: `${plain.requests} without, ${recorded.requests} with` }]);
  await compareConnections(cell, provider);
  const calls = recordedCalls(cell.store);
  // An answer that the program neither reads nor drops is open until the process ends, without recording too.
  if (calls.open > 0 && cell.scenario !== 'neverRead')
    cell.problems.push(['open', { stderr: `${calls.open} calls never closed` }]);
  if (calls.started !== calls.ended)
    cell.problems.push(['sessions', { stderr: `${calls.started} started, ${calls.ended} ended` }]);
  if (calls.total !== plain.requests)
    cell.problems.push(['calls', { stderr: `${calls.total} recorded, ${plain.requests} requests arrived` }]);
}

async function replay(cell, provider) {
  const env = { PROVIDER: provider.origin, REENACT_DIR: cell.store };
  const report = join(cell.store, 'report.json');
  const args = [bin, 'replay', 'last', '--report', report, '--', replayNode, cell.file, cell.scenario];
  const replayed = await run(replayNode, args, env);
  if (replayed.code !== 0 || replayed.stdout !== cell.plain.stdout) cell.problems.push(['replayed', replayed]);
  cell.summary = /^reenact: replayed .*$/m.exec(replayed.stderr)?.[0] ?? '';
  if (!/ relaxed=0 .* diverged=0 live=0 unused=0 blocked=0 /.test(cell.summary))
    cell.problems.push(['summary', replayed]);
}

function print(cell) {
  console.log(`${cell.problems.length === 0 ? 'ok  ' : 'FAIL'} ${cell.name}`);
  for (const [what, { code, stdout, stderr }] of cell.problems) {
    console.log(`       ${what}: exit ${code}`);
    if (stdout !== undefined && stdout !== cell.plain.stdout)
      console.log(
        `       without: ${cell.plain.stdout.trim().slice(0, 300)}\n       with:    ${stdout.trim().slice(0, 300)}`,
      );
    if (stderr) console.log(`       stderr:  ${stderr.trim().slice(0, 500)}`);
  }
}

async function cellsOf(client, form) {
  const file = await buildAgent(client, form);
  const { stdout } = await run(options.node, [file], { PROVIDER: 'http://127.0.0.1:9' });
  if (stdout.trim() === '') throw new Error(`${file} names no scenarios.`);
  const cells = stdout
    .trim()
    .split(' ')
    .map((scenario) => ({ file, scenario, name: `${client.sdk}@${versionOf(client.sdk)} ${form} ${scenario}` }));
  return cells.filter(({ name }) => options.only === undefined || name.includes(options.only));
}

if (!existsSync(register)) throw new Error('Build first: npm run build');
mkdirSync(work, { recursive: true });
writeFileSync(join(work, 'package.json'), '{"private":true}');
const cells = [];
for (const client of CLIENTS) for (const form of FORMS) cells.push(...(await cellsOf(client, form)));
const canReplay = existsSync(bin) && !options['no-replay'];
await pool(cells, async (cell) => {
  // A provider each, so that its connections can be counted; dead before the replay begins.
  const provider = await startProvider();
  await record(cell, provider);
  await provider.stop();
  if (canReplay) await replay(cell, provider);
  print(cell);
});
const failed = cells.filter(({ problems }) => problems.length > 0);
const what = canReplay ? 'recorded and replayed' : 'recorded';
console.log(`${cells.length - failed.length} of ${cells.length} cells ${what} without a difference`);
process.exitCode = failed.length > 0 || cells.length === 0 ? 1 : 0;
