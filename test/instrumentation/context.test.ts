import { makeScope, nextOrdinal, ScopeStorage } from '../../instrumentation/context';
import type { SessionContext } from '../../instrumentation/context';

const session: SessionContext = { id: 's', traceId: 't', spanId: 'p', scope: '', startMs: 0, progress: { lastSeq: 0 }, started: false, ended: false }; // prettier-ignore
const scope = (path: string) => makeScope({ path, session, spanId: 'p', traceId: 't' });

describe('scopes', () => {
  it('go along with asynchronous code, and apart for parallel branches', async () => {
    const storage = new ScopeStorage(scope(''));
    const branch = (path: string): Promise<string> =>
      storage.run(scope(path), async () => {
        await new Promise((done) => setTimeout(done, 1));
        await Promise.resolve();
        return storage.current().path;
      });
    expect(await Promise.all(['a', 'b', 'c'].map(branch))).toEqual(['a', 'b', 'c']);
    expect(storage.current().path).toBe('');
  });

  it('of our own work are the root, marked as untracked', () => {
    const storage = new ScopeStorage(scope(''));
    storage.run(scope('a'), () =>
      storage.untracked(() => expect([storage.isUntracked(), storage.current().path]).toEqual([true, ''])),
    );
    expect(storage.isUntracked()).toBe(false);
  });

  it('count what has the same name from zero', () => {
    const [a, b] = [scope('a'), scope('b')];
    expect([nextOrdinal(a, 'x'), nextOrdinal(a, 'x'), nextOrdinal(a, '__proto__'), nextOrdinal(b, 'x')]).toEqual([0, 1, 0, 0]); // prettier-ignore
  });
});
