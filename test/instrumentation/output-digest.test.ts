import { OutputDigests } from '../../instrumentation/output-digest';

it('a digest of no output is that of no bytes', () => {
  const empty = { sha256: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', bytes: 0 };
  expect(new OutputDigests().digests()).toEqual({ stdout: empty, stderr: empty });
});
