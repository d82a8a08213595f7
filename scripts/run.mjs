#!/usr/bin/env node
// Runs a task of this repository and does first what it needs: `node scripts/run.mjs demo|test|build [ARG…]`.
import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const modules = join(root, 'node_modules');
const dist = join(root, 'dist');

function run(script, args) {
  const { status } = spawnSync(process.execPath, [script, ...args], { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

function npm(args) {
  // Run by npm, its own script is known; by hand, the shell finds it (npm.cmd on Windows needs one).
  const script = process.env.npm_execpath;
  if (script?.endsWith('.js')) return run(script, args);
  const { status } = spawnSync('npm', args, { cwd: root, stdio: 'inherit', shell: process.platform === 'win32' });
  if (status !== 0) process.exit(status ?? 1);
}

const timeOf = (path) => (existsSync(path) ? statSync(path).mtimeMs : 0);

/** `npm ci`, when nothing is installed or the lockfile changed since. */
function install() {
  // Somebody who links a folder of modules here keeps it in order too.
  if (existsSync(modules) && lstatSync(modules).isSymbolicLink()) return;
  // npm writes this file last, so an installation that was cut off counts as none.
  if (timeOf(join(modules, '.package-lock.json')) >= timeOf(join(root, 'package-lock.json'))) return;
  console.error('Installing the dependencies (once) …');
  npm(['ci', '--no-audit', '--no-fund', '--loglevel=error']);
}

/** When the newest file or folder below was changed; a folder changes when a file in it is added or removed. */
function changed(path) {
  if (!statSync(path).isDirectory()) return timeOf(path);
  return Math.max(timeOf(path), ...readdirSync(path).map((name) => changed(join(path, name))));
}

/** Compiles from nothing, so that files which are gone leave no compiled ones behind. */
function build() {
  rmSync(dist, { recursive: true, force: true });
  run(join(modules, 'typescript', 'bin', 'tsc'), ['-p', 'tsconfig.build.json']);
  run(join(root, 'scripts', 'bundle-preload.mjs'), []);
}

function buildWhenStale() {
  const sources = ['instrumentation', 'exporter', 'replay', 'tsconfig.json', 'tsconfig.build.json'];
  const newest = Math.max(...sources.map((name) => changed(join(root, name))));
  // A compilation that was cut off has not come to this file.
  if (timeOf(join(dist, 'replay', 'cli', 'main.js')) < newest) build();
}

const tasks = {
  build,
  demo: (args) => run(join(root, 'scripts', 'demo.mjs'), args),
  test: (args) => run(join(modules, 'jest', 'bin', 'jest.js'), args),
};
const [task = '', ...args] = process.argv.slice(2);
if (!Object.hasOwn(tasks, task)) {
  console.error(`unknown task ${JSON.stringify(task)}; known: ${Object.keys(tasks).join(', ')}`);
  process.exit(2);
}
if (task !== 'build') {
  install();
  buildWhenStale();
}
tasks[task](args);
