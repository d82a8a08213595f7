import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeFolder } from '../../exporter/make-folder';

describe('makeFolder', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'reenact-folder-'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  it('makes what is missing above, with the same mode, and leaves what is there', () => {
    makeFolder(join(root, 'a/b'), 0o700);
    makeFolder(join(root, 'a/b'), 0o755);
    expect(['a', 'a/b'].map((name) => statSync(join(root, name)).mode & 0o777)).toEqual([0o700, 0o700]);
  });

  it('fails where a file is in the way', () => {
    writeFileSync(join(root, 'file'), '');
    expect(() => makeFolder(join(root, 'file'))).toThrow(/EEXIST/);
    expect(() => makeFolder(join(root, 'file/below'))).toThrow(/ENOTDIR/);
  });

  const itOnLinux = process.platform === 'linux' ? it : it.skip; // The file system that answers so is Linux's.
  itOnLinux('fails where the file system takes no folders, and does not try for ever', () => {
    expect(() => makeFolder('/proc/reenact/runs')).toThrow(/ENOENT/);
  });
});
