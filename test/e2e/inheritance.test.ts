import { HookPrograms, NODES } from './hook-programs';

const CHILD = "console.log('child', process.env.GIVEN ?? '-', process.env.PATH === undefined ? 'no PATH' : 'PATH')";

/** Each prints what the child printed; `node` is the Node that runs the test. */
const spawns: Record<string, string> = {
  'spawn with the environment of the parent': `cp.spawn(node, ['child.cjs'], { stdio: 'inherit' })`,
  'spawn with an environment of its own': `cp.spawn(node, ['child.cjs'], { stdio: 'inherit', env: { GIVEN: 'a b' } })`,
  'spawn with an empty environment': `cp.spawn(node, ['child.cjs'], { stdio: 'inherit', env: {} })`,
  fork: `cp.fork('./child.cjs', { env: { GIVEN: 'f' } })`,
  'exec through a shell': `cp.exec(JSON.stringify(node) + ' child.cjs', (e, out) => process.stdout.write(out))`,
  execFile: `cp.execFile(node, ['child.cjs'], { env: { GIVEN: 'x' } }, (e, out) => process.stdout.write(out))`,
  spawnSync: `process.stdout.write(cp.spawnSync(node, ['child.cjs'], { env: { GIVEN: 's' } }).stdout)`,
  'spawnSync without arguments for Node': `process.stdout.write(cp.spawnSync(node, { input: ${JSON.stringify(CHILD)}, env: { GIVEN: 'i' } }).stdout)`,
  'execFileSync without options': `process.stdout.write(cp.execFileSync(node, ['child.cjs']))`,
  execSync: `process.stdout.write(cp.execSync(JSON.stringify(node) + ' child.cjs', { env: { GIVEN: 'e' } }))`,
  'a named import': `NAMED(node, ['child.cjs'], { stdio: 'inherit', env: {} })`,
};

const workers: Record<string, string> = {
  'without options': `new Worker('./worker.cjs')`,
  'with no arguments for Node': `new Worker('./worker.cjs', { execArgv: [] })`,
  'with arguments for Node': `new Worker('./worker.cjs', { execArgv: ['--no-warnings'] })`,
  'with an empty environment': `new Worker('./worker.cjs', { env: {} })`,
  'with an environment': `new Worker('./worker.cjs', { env: { GIVEN: 'w', NODE_OPTIONS: '--no-warnings' } })`,
  'with a shared environment': `new Worker('./worker.cjs', { env: SHARE_ENV })`,
  'with both': `new Worker('./worker.cjs', { env: {}, execArgv: [] })`,
  'of a subclass': `new (class Mine extends Worker {})('./worker.cjs', { execArgv: [] })`,
  'of source text': `new Worker("console.log('worker', process.execArgv.length)", { eval: true, execArgv: [] })`,
};
const WORKER = `
console.log('worker', process.env.GIVEN ?? '-', JSON.stringify(process.env.NODE_OPTIONS ?? null), process.execArgv.join(' '));
`;

describe.each(NODES)('inheritance on %s', (node) => {
  const programs = new HookPrograms('children');
  afterAll(() => programs.remove());
  const quoted = JSON.stringify(node);

  test.each(Object.entries(spawns))('reaches a child made by %s', async (_name, code) => {
    const options = {
      files: {
        'child.cjs': CHILD,
        'app.mjs': `import cp, { spawn as NAMED } from 'node:child_process'; const node = ${quoted}; ${code};`,
      },
      argv: ['app.mjs'],
      node,
    };
    const plain = await programs.run({ ...options, unhooked: true });
    const hooked = await programs.run(options);
    expect(plain.stdout).toMatch(/^child/);
    expect(hooked).toMatchObject({ stdout: plain.stdout, stderr: plain.stderr, code: plain.code, errors: [] });
    expect(hooked.processes).toMatchObject([{ process: '0' }, { process: '0.1', run: 'run-1', where: 'main' }]);
  });

  test.each(Object.entries(workers))('reaches a worker %s, which sees what it was given', async (_name, code) => {
    const options = {
      files: {
        'worker.cjs': WORKER,
        'app.mjs': `import { Worker, SHARE_ENV } from 'node:worker_threads'; const worker = ${code}; console.log(worker instanceof Worker);`,
      },
      argv: ['app.mjs'],
      node,
    };
    const plain = await programs.run({ ...options, unhooked: true });
    const hooked = await programs.run(options);
    expect(plain.stdout).toMatch(/^worker/m);
    const text = (out: string): string =>
      out.replace(/--require .*?compiled\/(empty\.cjs|preload\.js)/g, '--require PRELOAD');
    expect({ ...hooked, stdout: text(hooked.stdout) }).toMatchObject({
      stdout: text(plain.stdout),
      stderr: '',
      code: 0,
      errors: [],
    });
    expect(hooked.processes).toMatchObject([{ process: '0' }, { process: '0.w1', run: 'run-1', where: 'worker' }]);
  });

  test('numbers children in the order they are started, and their children below them', async () => {
    const run = await programs.run({
      files: {
        'app.cjs': `const cp = require('child_process'); cp.spawnSync(process.execPath, ['b.cjs']); cp.spawnSync(process.execPath, ['-e', '0']);`,
        'b.cjs': `const cp = require('child_process'); cp.spawnSync(process.execPath, ['-e', '0'], { env: {} }); new (require('worker_threads').Worker)('0', { eval: true });`,
      },
      argv: ['app.cjs'],
      node,
    });
    expect(run.processes.map(({ process }) => process)).toEqual(['0', '0.1', '0.1.1', '0.1.w1', '0.2']);
  });

  test('leaves a variable that the program sets for its child', async () => {
    const run = await programs.run({
      files: {
        'app.cjs': `require('child_process').spawnSync(process.execPath, ['-e', '0'], { env: { REENACT_RECORD: 'off' } })`,
      },
      argv: ['app.cjs'],
      node,
    });
    expect(run.processes[1]).toMatchObject({ record: 'off', run: 'run-1' });
  });

  test('changes neither process.env, nor the options of the program, nor errors of wrong arguments', async () => {
    const options = {
      files: {
        'app.cjs': `
const cp = require('child_process');
const env = Object.freeze({ A: '1' });
const options = Object.freeze({ env });
const keys = Object.keys(process.env).length;
cp.spawnSync(process.execPath, ['-e', '0'], options);
cp.spawn(process.execPath, ['-e', '0'], options);
console.log(Object.keys(process.env).length - keys, JSON.stringify(options));
for (const call of [() => cp.spawnSync(), () => cp.spawn(''), () => cp.execSync('x', 3), () => cp.spawnSync('x', 'y'), () => cp.spawnSync('x', [], 3), () => cp.spawn('x', [], { env: 3, cwd: 4 }), () => new (require('worker_threads').Worker)(3), () => require('worker_threads').Worker('x')])
  try { call(); console.log('none'); } catch (error) { console.log(error.code, error.message); }
console.log(cp.spawnSync('does-not-exist').error.code, [cp.spawnSync.name, cp.spawnSync.length, cp.execSync.name, cp.execSync.length, cp.ChildProcess.prototype.spawn.name]);
`,
      },
      argv: ['app.cjs'],
      node,
    };
    const plain = await programs.run({ ...options, unhooked: true });
    const hooked = await programs.run(options);
    expect(plain.stdout).toMatch(/^0 /);
    expect(hooked).toMatchObject({ stdout: plain.stdout, stderr: plain.stderr, code: plain.code, errors: [] });
  });
});
