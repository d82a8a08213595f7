import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { builtPrograms, configOf } from './programs';

const { jaeger, otelcol } = builtPrograms();

/** Which real program loads which file; a file that none loads here says so itself. */
const LOADED_BY: Record<string, string | undefined> = {
  'development.yaml': otelcol,
  'agent.yaml': otelcol,
  'gateway.yaml': otelcol,
  'jaeger.yaml': jaeger,
};

test('each file has a real program that loads it, or says that none does here', () => {
  const files = readdirSync(dirname(configOf('x'))).filter((name) => name.endsWith('.yaml'));
  const rest = files.filter((name) => !(name in LOADED_BY));
  expect(files).toEqual(expect.arrayContaining(Object.keys(LOADED_BY)));
  for (const name of rest) expect(readFileSync(configOf(name), 'utf8')).toContain('Not loaded by a real program');
});

for (const [name, program] of Object.entries(LOADED_BY)) {
  const skipped = 'skipped, its program is not built: run `node scripts/backends.mjs` on a machine with Go';
  if (program === undefined) test.skip(`${name} (${skipped})`, () => undefined);
  else
    test(`the real program takes ${name}`, () => {
      const { status, stderr } = spawnSync(program, ['validate', '--config', configOf(name)], { encoding: 'utf8' });
      expect([status, status === 0 ? '' : stderr]).toEqual([0, '']);
    });
}
