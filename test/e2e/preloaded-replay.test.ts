import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { execFile } from 'node:child_process';
import { NODES } from './hook-programs';

const ROOT = resolve(__dirname, '../..');
const exec = promisify(execFile);

/** Asks the server once and prints a number that it makes, a draw and the time. */
const APP = `
const [question = 'q', code = '0'] = process.argv.slice(2);
const res = fetch(process.env.SERVER, { method: 'POST', body: question });
res.then((r) => r.text()).then((text) => {
  console.log(text, Math.random(), Date.now());
  process.exitCode = Number(code);
});
process.on('exit', () => console.error('the program says goodbye'));
`;
const PARENT = `require('node:child_process').fork(__dirname + '/app.cjs', process.argv.slice(2));`;

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

async function run(node: string, args: string[], options: { cwd: string; env: NodeJS.ProcessEnv }): Promise<Ended> {
  try {
    const { stdout, stderr } = await exec(node, args, options);
    return { code: 0, stdout, stderr };
  } catch (error) {
    return error as Ended;
  }
}

describe.each(NODES)('a replay by the preload alone on %s', (node) => {
  const folder = mkdtempSync(join(tmpdir(), 'reenact-preloaded-'));
  let served = 0;
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end(`answer ${++served}`));
  });
  let url = '';
  beforeAll(async () => {
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(ROOT, join(folder, 'node_modules', 'reenact'));
    writeFileSync(join(folder, 'app.cjs'), APP);
    writeFileSync(join(folder, 'parent.cjs'), PARENT);
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  });
  afterAll(() => {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const program = (file: string, args: string[], env: Record<string, string> = {}): Promise<Ended> =>
    run(node, ['--require', 'reenact/register', file, ...args], {
      cwd: folder,
      env: { PATH: process.env['PATH'], SERVER: url, ...env },
    });
  const replay = (file: string, args: string[], env: Record<string, string> = {}): Promise<Ended> =>
    program(file, args, { REENACT_MODE: 'replay', REENACT_REPLAY: 'last', TMPDIR: folder, ...env });

  test('prints what was printed, keeps the exit code and ends with the summary', async () => {
    const recorded = await program('app.cjs', ['q', '7']);
    const before = served;
    const replayed = await replay('app.cjs', ['q', '7']);
    expect(replayed.stdout).toBe(recorded.stdout);
    expect(replayed.code).toBe(7);
    expect(replayed.stderr).toMatch(
      /reenact: replayed 1\/1 exact=1 relaxed=0 overridden=0 diverged=0 live=0 unused=0 blocked=0 gaps=0\n/,
    );
    expect(served).toBe(before);
  });

  test('explains a divergence and ends with 1', async () => {
    await program('app.cjs', ['q']);
    const replayed = await replay('app.cjs', ['another']);
    expect(replayed.code).toBe(1);
    expect(replayed.stderr).toContain('diverged');
    expect(replayed.stderr).toContain('reenact: replayed 0/1 exact=0 relaxed=0 overridden=0 diverged=1');
  });

  test('takes the policy and the overrides from variables', async () => {
    await program('app.cjs', ['q']);
    const relaxed = await replay('app.cjs', ['another'], { REENACT_ON_DIVERGENCE: 'recorded' });
    expect(relaxed).toMatchObject({ code: 0, stdout: expect.stringContaining('answer') as string });
    const bySpelling = await replay('app.cjs', ['another'], {
      REENACT_REPLAY_OPTIONS: JSON.stringify({ onDivergence: 'recorded' }),
    });
    expect(bySpelling.code).toBe(0);
    const wrong = await replay('app.cjs', ['q'], { REENACT_SET: 'tool:nothing#1=1' });
    expect(wrong).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/^reenact: TURN_NOT_FOUND /) as string,
    });
  });

  test('counts what a child of the program replays', async () => {
    const recorded = await program('parent.cjs', ['q']);
    const replayed = await replay('parent.cjs', ['q']);
    expect(replayed.stdout).toBe(recorded.stdout);
    expect(replayed.stderr).toContain('reenact: replayed 1/1 exact=1 ');
    expect(replayed.code).toBe(0);
  });

  test.each([
    [{ REENACT_REPLAY: 'nothing-so-called' }, 'REF_NOT_FOUND'],
    [{ REENACT_REPLAY: '' }, 'REF_NOT_FOUND'],
    [{ REENACT_REPLAY: 'missing.jsonl' }, 'FILE_NOT_FOUND'],
    [{ REENACT_REPLAY: 'last', REENACT_ON_DIVERGENCE: 'maybe' }, 'UNKNOWN_POLICY'],
    [{ REENACT_REPLAY: 'last', REENACT_REPLAY_OPTIONS: '{' }, 'USAGE'],
  ])('refuses %j before the program begins', async (env, code) => {
    const replayed = await replay('app.cjs', ['q'], env);
    expect(replayed.code).toBe(2);
    expect(replayed.stdout).toBe('');
    expect(replayed.stderr).toMatch(new RegExp(`^reenact: ${code} .+\\n.+\\n$`));
  });

  test('leaves nothing in the temporary folder', async () => {
    await replay('parent.cjs', ['q']);
    await replay('app.cjs', ['q'], { REENACT_REPLAY: 'nothing-so-called' });
    expect(readdirSync(folder).filter((name) => name.startsWith('reenact-replay-'))).toEqual([]);
  });

  test('replays a file that was pulled elsewhere', async () => {
    const recorded = await program('app.cjs', ['q']);
    const pull = spawnSync(node, [join(ROOT, 'bin/reenact.js'), 'pull', 'last', '-o', 'kept.jsonl', '--force'], {
      cwd: folder,
    });
    expect(pull.status).toBe(0);
    const replayed = await replay('app.cjs', ['q'], { REENACT_REPLAY: 'kept.jsonl', REENACT_DIR: 'other-store' });
    expect(replayed).toMatchObject({ code: 0, stdout: recorded.stdout });
  });
});
