import { HookPrograms, NODES } from './hook-programs';

const HOOKS = `export const resolve = (specifier, context, next) => next(specifier, context);`;

describe.each(NODES)('threads on %s', (node) => {
  const programs = new HookPrograms('threads');
  afterAll(() => programs.remove());

  test('are told apart: the program, its workers, and the loader thread of Node', async () => {
    const run = await programs.run({
      files: {
        'hooks.mjs': HOOKS,
        'app.mjs': `
import { register } from 'node:module';
import { Worker } from 'node:worker_threads';
register('./hooks.mjs', import.meta.url);
await import('./other.mjs');
await new Promise((done) => new Worker('0', { eval: true, stdin: false }).on('exit', done));
`,
        'other.mjs': '',
      },
      argv: ['--no-warnings', 'app.mjs'],
      node,
    });
    expect(run).toMatchObject({ code: 0, stderr: '' });
    const threads = run.processes.map(({ where }) => where);
    expect(threads[0]).toBe('main');
    expect(new Set(threads)).toEqual(new Set(['main', 'loader', 'worker']));
    expect(threads.filter((where) => where === 'main')).toHaveLength(1);
    expect(threads.filter((where) => where === 'worker')).toHaveLength(1);
  });
});
