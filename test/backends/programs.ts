import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const root = resolve(__dirname, '..', '..');
export const configOf = (name: string): string => join(root, 'collector-config', name);

/** The real programs that `node scripts/backends.mjs` has built. */
export function builtPrograms(): { jaeger?: string; otelcol?: string } {
  const text = execFileSync(process.execPath, [join(root, 'scripts', 'backends.mjs'), '--have'], { encoding: 'utf8' });
  return Object.fromEntries(text.split('\n').flatMap((line) => (line ? [line.split('=')] : []))) as object;
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

export const emptyFolder = (): string => mkdtempSync(join(tmpdir(), 'reenact-backends-'));

const running: ChildProcess[] = [];

/** Starts a program with a configuration, and waits until it answers. */
export async function start(
  program: string,
  config: string,
  options: { env: Record<string, string>; answers: string },
) {
  const child = spawn(program, ['--config', config], {
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  running.push(child);
  let said = '';
  child.stderr.on('data', (text: Buffer) => (said = (said + text.toString()).slice(-2000)));
  for (let attempt = 0; attempt < 150; attempt++) {
    if (child.exitCode !== null) break;
    const up = await fetch(options.answers).then(
      () => true,
      () => false,
    );
    if (up) return child;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`${config} did not start: ${said}`);
}

export async function stopPrograms(): Promise<void> {
  for (const child of running.splice(0)) {
    if (child.exitCode !== null) continue;
    const ended = new Promise((done) => child.once('exit', done));
    child.kill();
    await ended;
  }
}
