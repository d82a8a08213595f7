import { spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';

const script = join(resolve(__dirname, '../..'), 'scripts', 'demo.mjs');

describe('the demo', () => {
  it.each(['openai', 'anthropic'])(
    'goes from a failed conversation of the %s agent to its regression test',
    (variant) => {
      const { status, stdout, stderr } = spawnSync(process.execPath, [script, variant], { encoding: 'utf8' });
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      expect(stdout).toMatch(/call-\d+ +WRONG +Stay with us: 20 % off/);
      expect(stdout).toContain('replayed 7/7 exact=7 relaxed=0 overridden=0 diverged=0 live=0');
      expect(stdout).toContain('the outcome stays: the answer of check_coverage');
      expect(stdout).toContain("the outcome CHANGES: the model's classification");
      expect(stdout).toMatch(/PROMPT_VERSION=v1.*\nFAIL/);
      expect(stdout).toMatch(/PROMPT_VERSION=v2.*\npass/);
    },
    180_000,
  );

  it('names the variants when it is asked for another', () => {
    const { status, stderr } = spawnSync(process.execPath, [script, 'cohere'], { encoding: 'utf8' });
    expect(status).toBe(2);
    expect(stderr).toContain('openai|anthropic');
  });
});
