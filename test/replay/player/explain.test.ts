import { explainExchange, likelyCause, nearestExchange } from '../../../replay/player/explain';
import { ask, recorded, request } from './samples';

const context = { turnOf: () => 3, usedOverride: () => undefined, foreignSession: () => undefined };

describe('the likely cause of a difference', () => {
  it.each([
    ['/messages/1/content', 'now 2026-01-01T00:00:00Z', 'now 2026-01-02T00:00:00Z', 'clock'],
    ['/at', 1_764_550_000, 1_764_550_001, 'clock'],
    ['/id', '6f1c2b0a-1111-4222-8333-444455556666', '00000000-1111-4222-8333-444455556666', 'generated id'],
    ['/system', 'Be brief.', 'Be kind.', 'prompt edit'],
    ['/instructions', 'a', 'b', 'prompt edit'],
    ['/messages/0/content', 'a', 'b', 'prompt edit: a message'],
    ['/model', 'm1', 'm2', 'request settings'],
    ['/tools/0/function/name', 'a', 'b', 'request settings'],
    ['/messages/4', undefined, { role: 'user' }, 'sends more'],
    ['/messages/4', { role: 'user' }, undefined, 'sends less'],
    ['/metadata/a', 'a', 'b', 'the content differs'],
    ['/messages/2/content', 'a', 'b', 'prompt edit: a message'],
  ])('at %s from %j to %j is: %s', (path, expected, actual, cause) => {
    expect(likelyCause({ path, expected, actual })).toContain(cause);
  });
});

test.each([
  ['system', 'the instructions'],
  ['developer', 'the instructions'],
  ['user', 'a message'],
])('a difference in a first message of the role %s is: %s', (role, cause) => {
  const difference = { path: '/messages/0/content', expected: 'a', actual: 'b' };
  expect(likelyCause(difference, { messages: [{ role, content: 'a' }] })).toContain(cause);
});

describe('an explanation', () => {
  it('names the session that is not replayed', () => {
    const elsewhere = { ...context, foreignSession: () => 'conv-2' };
    const call = { request: ask('x'), nearest: recorded(ask('y')), scope: 's:conv-2' };
    const divergence = explainExchange('diverged', call, elsewhere);
    expect(divergence).toMatchObject({ rule: 'session', nearest: null });
    expect(divergence.cause).toContain('session conv-2');
    expect(divergence.hint).toContain('whole run');
  });

  it('names turn, path, both values, the nearest recording and what to do', () => {
    const record = recorded(ask('how is order 7?'));
    const divergence = explainExchange('diverged', { request: ask('how is order 8?'), nearest: record }, context);
    expect(divergence).toMatchObject({ kind: 'diverged', turn: 3, rule: 'body', path: '/messages/0/content', expected: 'how is order 7?', actual: 'how is order 8?' }); // prettier-ignore
    expect(divergence.nearest).toContain('/v1/chat/completions');
    expect(divergence.hint).toContain('--on-divergence');
  });

  it('compares routes when they differ', () => {
    const other = request('{}', { url: 'https://api.example.com/v1/responses' });
    const divergence = explainExchange('diverged', { request: other, nearest: recorded(ask('x')) }, context);
    expect(divergence).toMatchObject({ rule: 'route', expected: 'POST /v1/chat/completions', actual: 'POST /v1/responses' }); // prettier-ignore
  });

  it('says that a call is new when nothing is left', () => {
    const divergence = explainExchange('diverged', { request: ask('x'), nearest: undefined }, context);
    expect(divergence).toMatchObject({ turn: null, nearest: null, cause: expect.stringContaining('new call') });
  });

  it('blames the override that came before', () => {
    const overridden = { ...context, usedOverride: () => ({ turn: 2, text: '2="x"' }) };
    const divergence = explainExchange('diverged', { request: ask('x'), nearest: recorded(ask('y')) }, overridden);
    expect(divergence.cause).toBe('changed by your override of turn 2');
  });

  it('clips what is long', () => {
    const [a, b] = [ask('x'.repeat(1e5)), ask('y'.repeat(1e5))];
    const divergence = explainExchange('diverged', { request: a, nearest: recorded(b) }, context);
    expect(JSON.stringify(divergence).length).toBeLessThan(6_000);
  });
});

describe('the nearest recording', () => {
  it('is of the same route first, then of the same scope, then most alike', () => {
    const records = [
      recorded(ask('how is order 7?'), { scope: 'other' }),
      recorded(request('{"x":1}', { url: 'https://api.example.com/v1/embeddings' })),
      recorded(ask('what time is it?')),
      recorded(ask('how is order 9?')),
    ];
    expect(nearestExchange(ask('how is order 7?'), '', records)).toBe(records[3]);
    expect(nearestExchange(ask('x'), '', [])).toBeUndefined();
  });
});
