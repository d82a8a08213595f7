import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withPreload } from '../../instrumentation/node-options';

describe('withPreload', () => {
  const folder = mkdtempSync(join(tmpdir(), 'reenact-options-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test.each(['plain', 'with space', 'with "quotes"', 'with \\ backslash', "it's"])(
    'writes a path %s as Node reads it',
    (name) => {
      mkdirSync(join(folder, name));
      const preload = join(folder, name, 'preload.cjs');
      writeFileSync(preload, "process.stdout.write('loaded ');");
      const options = withPreload('--no-warnings', preload);
      const { stdout, stderr } = spawnSync(process.execPath, ['-p', '1'], {
        env: { NODE_OPTIONS: options },
        encoding: 'utf8',
      });
      expect({ stdout, stderr }).toEqual({ stdout: 'loaded 1\n', stderr: '' });
    },
  );

  test('adds itself once', () => {
    const once = withPreload('--inspect', '/a b/register.js');
    expect(withPreload(once, '/a b/register.js')).toBe(once);
  });

  test.each([
    '--require reenact/register',
    '-r reenact/register',
    '--import=reenact/register',
    '--import "reenact/register"',
  ])('takes the place of %s, which a child in another folder would not find', (named) => {
    expect(withPreload(`--no-warnings ${named} --inspect`, '/x/register.js').split(/\s+/)).toEqual([
      '--require',
      '/x/register.js',
      '--no-warnings',
      '--inspect',
    ]);
  });

  test('keeps other options that begin alike', () => {
    expect(withPreload('--require reenact/register-other --require ./mine.js', '/x/register.js')).toBe(
      '--require /x/register.js --require reenact/register-other --require ./mine.js',
    );
  });
});
