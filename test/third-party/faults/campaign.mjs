// The fault campaign: programs in bad surroundings, run without recording, with it, and (where the fault leaves a
// whole recording) replayed with the provider dead. What the program prints and its exit code must be the same.
//
//   node test/third-party/faults/campaign.mjs [--node PATH] [--only TEXT] [--mocks FOLDER]
//
// FOLDER holds a node_modules with nock, msw, sinon, undici and @jest/fake-timers; without it their cases are skipped.
/* global clearTimeout */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve as resolvePath } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { startGarbageProvider } from './garbage-provider.mjs';
import { mockCases } from './mocks.mjs';
import { PROGRAMS } from './programs.mjs';
import { endpointCases, storeCases } from './surroundings.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const register = join(root, 'dist/instrumentation/register.js');
const bin = join(root, 'bin/reenact.js');
const { values: options } = parseArgs({
  options: { node: { type: 'string', default: process.execPath }, only: { type: 'string' }, mocks: { type: 'string' } },
});

function run(args, { env, cwd, hangUpAfter }) {
  return new Promise((resolve) => {
    const started = Date.now();
    const child = spawn(options.node, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'])
      child[name].setEncoding('utf8').on('data', (piece) => {
        output[name] += piece;
        if (name === 'stdout' && output.stdout.length >= hangUpAfter) child.stdout.destroy();
      });
    const timer = setTimeout(() => child.kill('SIGKILL'), 120_000);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      // How much comes through before a pipe is closed is chance; what is printed after it is nobody's.
      if (hangUpAfter !== undefined) output.stdout = '';
      resolve({ code: signal ?? code, ms: Date.now() - started, ...output });
    });
  });
}

/** Runs one case; resolves to its differences, none where all is well, and what it says beside them. */
async function runCase(fault, folder) {
  const provider = await startGarbageProvider();
  const program = join(folder, 'program.mjs');
  const reenact = pathToFileURL(join(root, 'dist/instrumentation/index.js')).href;
  const mocks = options.mocks === undefined ? '' : resolvePath(options.mocks);
  const program_text = fault.program.replaceAll("'reenact'", JSON.stringify(reenact)).replaceAll('MOCKS', mocks);
  writeFileSync(program, program_text);
  const surroundings = (await fault.prepare?.(folder)) ?? {};
  const env = { BASE: provider.origin, REENACT_DIR: join(folder, 'store'), ...surroundings.env };
  const settings = { env, cwd: folder, hangUpAfter: fault.hangUpAfter };
  const problems = [];
  try {
    const plain = await run([program], settings);
    const recorded = await run(['--require', register, program], settings);
    compare(plain, recorded, problems);
    await provider.stop();
    if (fault.replays !== false) {
      const replayed = await run([bin, 'replay', 'last', '--', options.node, program], settings);
      if (replayed.stdout !== plain.stdout || !/ diverged=0 live=0 unused=0 blocked=0 /.test(replayed.stderr))
        problems.push(`replayed: ${replayed.stderr.trim().slice(-600)}\n${difference(plain.stdout, replayed.stdout)}`);
    }
    const notice = recorded.stderr.replace(plain.stderr, '').trim().slice(0, 300);
    return { problems, notice, ms: recorded.ms - plain.ms };
  } finally {
    await provider.stop();
    await surroundings.stop?.();
  }
}

function compare(plain, recorded, problems) {
  if (plain.code !== recorded.code) problems.push(`exit code ${plain.code} without, ${recorded.code} with`);
  if (plain.stdout !== recorded.stdout) problems.push(`recorded: ${difference(plain.stdout, recorded.stdout)}`);
  // Lines of ours may be added, none of the program's may be missing.
  const own = recorded.stderr.split('\n').filter((line) => !line.startsWith('reenact: '));
  if (own.join('\n').trim() !== plain.stderr.trim())
    problems.push(`stderr: ${difference(plain.stderr, own.join('\n'))}`);
}

function difference(a, b) {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  if (at === a.length && at === b.length) return 'equal';
  const from = Math.max(0, at - 40);
  return `without …${a.slice(from, at + 160)}\n       with    …${b.slice(from, at + 160)}`;
}

const base = { program: PROGRAMS.asks };
const cases = [
  ...endpointCases().map((fault) => ({ ...base, ...fault })),
  ...storeCases().map((fault) => ({ ...base, ...fault, replays: false })),
  { name: 'arguments that throw when read', program: PROGRAMS.throwingArguments },
  { name: 'proxies, classes, circles, symbols', program: PROGRAMS.oddArguments },
  { name: 'strings of 100 MB', program: PROGRAMS.giantArguments },
  { name: 'answers of a broken provider', program: PROGRAMS.garbage },
  {
    name: 'bytes after the end of an answer',
    program: PROGRAMS.tooLong,
    known: 'the parse error of node:http behind a whole answer is not recorded',
  },
  { name: '10,000 chunks', program: PROGRAMS.manyChunks },
  { name: '100 equal calls at once', program: PROGRAMS.equalCalls },
  { name: '100 different calls at once', program: PROGRAMS.differentCalls },
  { name: '32 sessions at once', program: PROGRAMS.sessions },
  { name: 'stdout closed early', program: PROGRAMS.endlessOutput, hangUpAfter: 1000, replays: false },
  { name: 'process.exit inside a tool', program: PROGRAMS.exitInTool },
  {
    name: 'uncaught error while a call is under way',
    program: PROGRAMS.throwInTool,
    known: 'a call that was sent in the turn of the loop in which the process ended counts as unused',
  },
  { name: 'fetch, timers, Date, stdout patched by the program', program: PROGRAMS.patches },
  ...(options.mocks === undefined ? [] : mockCases()),
];

const verdicts = { ok: 0, known: 0, failed: 0, skipped: 0 };
const chosen = cases.filter(({ name }) => options.only === undefined || name.includes(options.only));
for (const fault of chosen) {
  if (fault.skip) {
    verdicts.skipped += 1;
    console.log(`skip ${fault.name}: ${fault.skip}`);
    continue;
  }
  const folder = mkdtempSync(join(tmpdir(), 'reenact-fault-'));
  const { problems, notice, ms } = await runCase(fault, folder);
  rmSync(folder, { recursive: true, force: true });
  const verdict = problems.length === 0 ? 'ok' : fault.known === undefined ? 'failed' : 'known';
  verdicts[verdict] += 1;
  const why = verdict === 'known' ? `\n       known: ${fault.known}` : '';
  const says = notice === '' ? '' : `\n       says: ${notice}`;
  console.log(`${verdict.padEnd(6)} ${fault.name} (${ms} ms longer)${why}${says}`);
  for (const problem of problems) console.log(`       ${problem}`);
}
console.log(
  Object.entries(verdicts)
    .map(([name, count]) => `${count} ${name}`)
    .join(', '),
);
process.exitCode = verdicts.failed > 0 || verdicts.ok === 0 ? 1 : 0;
