import { execFileSync } from 'node:child_process';
import { splitCommand } from '../../../replay/drivers/split-command';

describe('splitCommand', () => {
  it.each(['node a.mjs', `env X='a b' node "c d.mjs" e\\ f`, `a "b \\"c\\"" 'd\\e'`, '  a   b  ', `a '' b`])(
    'splits %s as a shell does',
    (text) => {
      const shell = execFileSync('sh', ['-c', `printf '%s\\n' ${text}`], { encoding: 'utf8' });
      expect(splitCommand(text)).toEqual(shell.split('\n').slice(0, -1));
    },
  );
});
