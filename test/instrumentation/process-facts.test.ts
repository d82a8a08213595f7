import { isSeededByFlag } from '../../instrumentation/ambient/random';
import { processFacts } from '../../instrumentation/process-facts';
import { readConfig } from '../../instrumentation/config';

describe('facts of the process', () => {
  it('hold the values of harmless variables, of keys only the name, of others nothing', () => {
    const names = { OPENAI_BASE_URL: 'http://x', X_API_KEY: 'secret-1', MY_PASSWORD: 'secret-2', EXTRA: 'yes', HARMLESS: 'no', REENACT_RUN_ID: 'r' }; // prettier-ignore
    Object.assign(process.env, names);
    const facts = processFacts({ ...readConfig({}), file: { env: ['EXTRA'] } }, 'seed');
    for (const name of Object.keys(names)) delete process.env[name];
    expect(facts.env).toMatchObject({ OPENAI_BASE_URL: 'http://x', X_API_KEY: null, MY_PASSWORD: null, EXTRA: 'yes' });
    expect(facts.env).not.toHaveProperty('HARMLESS');
    expect(facts.env).not.toHaveProperty('REENACT_RUN_ID');
    expect(JSON.stringify(facts)).not.toContain('secret-');
  });

  it('know a seed that a flag gives', () => {
    expect(isSeededByFlag(['--random-seed=1'], undefined)).toBe(true);
    expect(isSeededByFlag([], '--max-old-space-size=9 --random_seed=1')).toBe(true);
    expect(isSeededByFlag(['--random'], '')).toBe(false);
  });
});
