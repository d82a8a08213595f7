import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { runProgram, withPreload } from '../../../replay/drivers/run-program';
import type { RunProgramOptions } from '../../../replay/drivers/run-program';

const node = (script: string, more: Partial<RunProgramOptions> = {}): RunProgramOptions => ({
  command: [process.execPath, '-e', script],
  cwd: process.cwd(),
  env: {},
  output: 'capture',
  ...more,
});

test('the exit code is the program’s own', async () => {
  expect(await runProgram(node('process.exit(7)'))).toMatchObject({ exitCode: 7, signal: null });
});

test.each([
  ['SIGTERM', 143],
  ['SIGKILL', 137],
])('after %s the exit code is %i, as in a shell', async (signal, exitCode) => {
  expect(await runProgram(node(`process.kill(process.pid, '${signal}'); setInterval(() => {}, 1e3)`))).toMatchObject({
    exitCode,
    signal,
  });
});

test('a signal to us reaches the program, and we end with its code', async () => {
  // A process of its own: the test runner's would take the signal for itself.
  const script = `process.on('SIGHUP', () => process.exit(5)); console.log('ready'); setInterval(() => {}, 1e3)`;
  const driver = `require('tsx/cjs');
    const { runProgram } = require('./replay/drivers/run-program.ts');
    runProgram({ command: [process.execPath, '-e', ${JSON.stringify(script)}], cwd: '.', env: {}, output: 'inherit' })
      .then((end) => process.exit(end.exitCode));`;
  const child = spawn(process.execPath, ['-e', driver], { stdio: ['ignore', 'pipe', 'inherit'] });
  child.stdout.once('data', () => child.kill('SIGHUP'));
  const [code] = (await once(child, 'exit')) as [number];
  expect(code).toBe(5);
});

test('a missing program is COMMAND_NOT_FOUND', async () => {
  await expect(runProgram({ ...node(''), command: ['./no-such-program'] })).rejects.toMatchObject({
    code: 'COMMAND_NOT_FOUND',
  });
});

test('variables are set and removed for the program only', async () => {
  process.env['REENACT_TEST_GONE'] = '1';
  let output = '';
  const script = `console.log(process.env.REENACT_TEST_GONE, process.env.REENACT_TEST_NEW)`;
  const env = { REENACT_TEST_GONE: undefined, REENACT_TEST_NEW: 'x' };
  await runProgram(node(script, { env, onOutput: (piece) => (output += piece.toString()) }));
  expect(output).toBe('undefined x\n');
  expect(process.env['REENACT_TEST_NEW']).toBeUndefined();
  delete process.env['REENACT_TEST_GONE'];
});

test('a program that outlives its time is ended with its children', async () => {
  const script = `require('child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e3)'], { stdio: 'inherit' }); setInterval(() => {}, 1e3)`;
  const started = Date.now();
  expect(await runProgram(node(script, { timeoutMs: 500 }))).toMatchObject({ timedOut: true });
  expect(Date.now() - started).toBeLessThan(5_000);
});

test('a path with a space is one option, and what NODE_OPTIONS held stays', () => {
  expect(withPreload('--max-old-space-size=99', '/a b/register.js')).toBe(
    '--require "/a b/register.js" --max-old-space-size=99',
  );
  expect(withPreload(undefined, '/a/register.js')).toBe('--require /a/register.js');
  const once = withPreload('', '/a/register.js');
  expect(withPreload(once, '/a/register.js')).toBe(once);
});
