import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const root = resolve(__dirname, '../..');
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
const work = mkdtempSync(join(tmpdir(), 'reenact-packaging-'));
const app = join(work, 'app');
let files: string[] = [];

function run(command: string, args: readonly string[], cwd = app): string {
  return execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], env: cleanEnv() });
}

/** Without what `npm test` sets: npm in another folder must not take this one for its project. */
function cleanEnv(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_(?!config_)|REENACT_)/.test(name)));
}

beforeAll(() => {
  // Without scripts: `prepare` would build dist from nothing while other tests run it.
  const packed: unknown = JSON.parse(
    run(npm, ['pack', '--json', '--ignore-scripts', '--pack-destination', work], root),
  );
  const [{ filename, files: list }] = packed as [{ filename: string; files: { path: string }[] }];
  files = list.map(({ path }) => path);
  mkdirSync(app);
  writeFileSync(join(app, 'package.json'), '{ "name": "app", "private": true }');
  run(npm, ['install', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error', join(work, filename)]);
}, 180_000);

afterAll(() => rmSync(work, { recursive: true, force: true }));

function write(name: string, text: string): string {
  writeFileSync(join(app, name), text);
  return name;
}

describe('the packed package', () => {
  it('holds the command, the compiled code with its types, the licence and the pages', () => {
    expect(files).toEqual(
      expect.arrayContaining([
        ...['LICENSE', 'README.md', 'CHANGELOG.md', 'package.json', 'bin/reenact.js', 'docs/README.md'],
        ...['index', 'register'].flatMap((name) => ['js', 'd.ts'].map((end) => `dist/instrumentation/${name}.${end}`)),
        ...['js', 'd.ts'].map((end) => `dist/replay/index.${end}`),
      ]),
    );
  });

  it('holds no tests, sources, examples, maps or recordings', () => {
    const strange = files.filter((file) => !/^(dist|docs|bin)\/|^(LICENSE|README|CHANGELOG|package)\.?\w*$/.test(file));
    expect(strange).toEqual([]);
    expect(files.filter((file) => /\.map$|\.tsbuildinfo$|(?<!\.d)\.ts$|\.reenact|\.test\./.test(file))).toEqual([]);
  });

  it('names no folder of the machine that built it', () => {
    const installed = join(app, 'node_modules', 'reenact');
    const naming = files.filter((file) => readFileSync(join(installed, file), 'utf8').includes(root));
    expect(naming).toEqual([]);
  });

  it('installs few packages beside itself', () => {
    const names = readdirSync(join(app, 'node_modules')).filter((name) => !name.startsWith('.'));
    expect(names.length).toBeLessThanOrEqual(15);
  });

  it('is required and imported by its public names', () => {
    const names = 'typeof a.session, typeof a.RecordingClient, typeof b.ReplayEngine, typeof b.runWithReplay';
    const cjs = write('a.cjs', `const a = require('reenact'), b = require('reenact/replay'); console.log(${names});`);
    const esm = write(
      'a.mjs',
      `import { session, RecordingClient } from 'reenact'; import { ReplayEngine, runWithReplay } from 'reenact/replay';
       const a = { session, RecordingClient }, b = { ReplayEngine, runWithReplay }; console.log(${names});`,
    );
    expect(run(process.execPath, [cjs])).toBe('function function function function\n');
    expect(run(process.execPath, [esm])).toBe('function function function function\n');
  });

  it.each(['--require', '--import'])('records when preloaded by %s', (option) => {
    const program = write('tool.cjs', "require('reenact').tool('add', (n) => n + 1)(1); console.log('done');");
    expect(run(process.execPath, [option, 'reenact/register', program])).toBe('done\n');
    const list: unknown = JSON.parse(run(process.execPath, ['node_modules/reenact/bin/reenact.js', 'list', '--json']));
    expect(list).toEqual(expect.arrayContaining([expect.objectContaining({ toolCalls: 1 })]));
  });

  it('has no way into its private files', () => {
    const program = write(
      'b.cjs',
      "try { require('reenact/dist/instrumentation/recorder'); } catch (e) { console.log(e.code); }",
    );
    expect(run(process.execPath, [program])).toBe('ERR_PACKAGE_PATH_NOT_EXPORTED\n');
  });

  it.each([
    ['node16', 'node16', 'use.mts'],
    ['node16', 'node16', 'use.cts'],
    ['bundler', 'esnext', 'use.ts'],
  ])(
    'resolves its types under moduleResolution %s, module %s (%s)',
    (moduleResolution, module, name) => {
      write(
        name,
        `import { session, tool } from 'reenact';
       import { runWithReplay } from 'reenact/replay';
       import type { ExecutionLog, RunResult } from 'reenact/replay';
       import 'reenact/register';
       const double: (n: number) => Promise<number> = tool('double', async (n: number) => 2 * n);
       export const result: Promise<RunResult> = runWithReplay({ agent: { command: ['node'] }, executionLog: {} as ExecutionLog });
       export const value: Promise<number> = session({ id: 'a' }, () => double(2));
       // @ts-expect-error the id of a session is a text
       void session({ id: 1 }, () => 0);
      `,
      );
      const types = join(root, 'node_modules', '@types');
      const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
      const options = ['--noEmit', '--strict', '--target', 'es2022', '--typeRoots', types, '--types', 'node'];
      const output = run(process.execPath, [
        ...[compiler, ...options, '--module', module, '--moduleResolution', moduleResolution, name],
      ]);
      expect(output).toBe('');
    },
    60_000,
  );
});
