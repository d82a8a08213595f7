import { childEnv } from '../../instrumentation/child-processes';

describe('childEnv', () => {
  test('keeps what the program gave, inherited properties included', () => {
    const given = Object.assign(Object.create({ BASE: 'b' }) as Record<string, string | undefined>, {
      OWN: 'o',
      GONE: undefined,
    });
    expect({ ...childEnv(given, { REENACT_RUN_ID: 'r' }, '/x.js') }).toEqual({
      OWN: 'o',
      BASE: 'b',
      REENACT_RUN_ID: 'r',
      NODE_OPTIONS: '--require /x.js',
    });
  });

  test('overrides what a child would inherit unchanged, and nothing else', () => {
    process.env['REENACT_PROCESS'] = '0';
    try {
      const own = { REENACT_PROCESS: '0.1', REENACT_RECORD: 'on' };
      expect(childEnv({ ...process.env, REENACT_RECORD: 'off' }, own, '/x.js')).toMatchObject({
        REENACT_PROCESS: '0.1',
        REENACT_RECORD: 'off',
      });
    } finally {
      delete process.env['REENACT_PROCESS'];
    }
  });
});
