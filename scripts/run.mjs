#!/usr/bin/env node
// Runs a task of this repository and installs and builds what it needs first: `node scripts/run.mjs demo|test [ARG…]`.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';

function run(command, args) {
  const { status, signal } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? (signal ? 1 : 0));
}

/** `npm ci`, when what is installed is not what the lockfile says. */
function install() {
  const lock = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  const stamp = join(root, 'node_modules', '.reenact-lock');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return;
  console.error('Installing the dependencies (once) …');
  run(npm, ['ci', '--no-audit', '--no-fund', '--loglevel=error']);
  writeFileSync(stamp, lock);
}

function newest(folder) {
  let time = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    time = Math.max(time, entry.isDirectory() ? newest(path) : statSync(path).mtimeMs);
  }
  return time;
}

/** Compiles, when a source is newer than what was compiled. */
function build() {
  const built = join(root, 'dist', 'instrumentation', 'register.js');
  const sources = Math.max(...['instrumentation', 'exporter', 'replay'].map((name) => newest(join(root, name))));
  if (existsSync(built) && statSync(built).mtimeMs > sources) return;
  run(npm, ['run', '--silent', 'build']);
}

const [task, ...args] = process.argv.slice(2);
const tasks = {
  demo: () => run(process.execPath, [join(root, 'scripts', 'demo.mjs'), ...args]),
  test: () => run(process.execPath, [join(root, 'node_modules', 'jest', 'bin', 'jest.js'), ...args]),
};
if (!Object.hasOwn(tasks, task ?? '')) {
  console.error(`unknown task ${task ?? ''}; known: ${Object.keys(tasks).join(', ')}`);
  process.exit(2);
}
install();
build();
tasks[task]();
