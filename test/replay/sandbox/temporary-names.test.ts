import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { DrawSource } from '../../../instrumentation/ambient/crypto';
import { noteTemporaryNames } from '../../../instrumentation/ambient/temporary-names';
import { undoPatches } from '../../../instrumentation/patches';
import { replayTemporaryNames } from '../../../replay/sandbox/temporary-names';

const base = fs.mkdtempSync(join(tmpdir(), 'reenact-names-'));
const prefix = join(base, 'work-');
const forms: [string, () => Promise<string>][] = [
  ['mkdtempSync', () => Promise.resolve(fs.mkdtempSync(prefix))],
  ['mkdtemp', () => promisify<string, string>(fs.mkdtemp)(prefix)],
  ['promises.mkdtemp', () => fs.promises.mkdtemp(prefix)],
];

afterEach(undoPatches);
afterAll(() => fs.rmSync(base, { recursive: true, force: true }));

/** Answers every draw with these bytes. */
const drawing = (bytes: string): DrawSource => ({ draw: () => Buffer.from(bytes, 'latin1') });

describe.each(forms)('%s', (_name, make) => {
  it('has the name noted that the system drew', async () => {
    const noted: string[] = [];
    noteTemporaryNames({
      draw: (op, _length, produce) => {
        const bytes = produce(() => 0);
        noted.push(`${op} ${Buffer.from(bytes).toString()}`);
        return bytes;
      },
    });
    const folder = await make();
    expect(fs.statSync(folder).isDirectory()).toBe(true);
    expect(noted).toEqual([`mkdtemp ${folder.slice(prefix.length)}`]);
  });

  it('makes a private folder of the recorded name in a replay', async () => {
    replayTemporaryNames(drawing('aB3xY9'));
    const folder = await make();
    expect(folder).toBe(`${prefix}aB3xY9`);
    if (process.platform !== 'win32') expect(fs.statSync(folder).mode & 0o777).toBe(0o700);
    expect(await make()).toBe(folder);
    fs.rmdirSync(folder);
  });

  it('never gives a folder in which something lies', async () => {
    replayTemporaryNames(drawing('Taken1'));
    fs.mkdirSync(`${prefix}Taken1`);
    fs.writeFileSync(`${prefix}Taken1/left`, '');
    const folder = await make();
    expect(folder).not.toBe(`${prefix}Taken1`);
    expect(fs.readdirSync(folder)).toEqual([]);
    fs.rmSync(`${prefix}Taken1`, { recursive: true });
  });

  it('fails as the system does where no folder can be made', async () => {
    replayTemporaryNames(drawing('aB3xY9'));
    await expect(fs.promises.mkdtemp(join(base, 'no', 'such-'))).rejects.toMatchObject({
      code: 'ENOENT',
      syscall: 'mkdtemp',
    });
  });

  it('takes no way to another folder from a forged recording', async () => {
    replayTemporaryNames(drawing('/../xx'));
    expect(await make()).toMatch(/work-[A-Za-z0-9]{6}$/);
  });
});
