import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { claimProcessPath } from '../../instrumentation/process-claim';

describe('the path of a process', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'claims-'));
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  it('stays as it was given for the first process that claims it', () => {
    expect(claimProcessPath('0.3', directory)).toBe('0.3');
  });

  it('counts up for the programs that one shell starts one after the other', () => {
    const paths = [1, 2, 3].map(() => claimProcessPath('0', directory));
    expect(paths).toEqual(['0', '0~2', '0~3']);
  });

  it('stays as it was given where nobody keeps claims', () => {
    expect([claimProcessPath('0', undefined), claimProcessPath('0', join(directory, 'gone'))]).toEqual(['0', '0']);
  });

  it('makes no file for a path that is not one of ours', () => {
    expect(claimProcessPath('../0', directory)).toBe('../0');
    expect(readdirSync(directory)).toEqual([]);
  });
});
