import { createFilter } from '../../instrumentation/exclusions';

const at = (url: string) => ({ transport: 'undici', method: 'GET', url, headers: [] }) as const;

describe('exclusions', () => {
  it.each<[string, boolean]>([
    ['http://api.example.com/v1', true],
    ['http://telemetry.example.com/x', false],
    ['http://TELEMETRY.example.com:8080/x', false],
    ['http://xtelemetry-example.com/x', true],
    ['http://a.internal/x', false],
    ['http://internal/x', true],
    ['http://api.example.com/health', false],
    ['http://api.example.com/health/deep', true],
    ['http://api.example.com/internal/a/b?c=1', false],
    ['no url', true],
  ])('%s is recorded: %s', (url, expected) => {
    const exclude = { hosts: ['telemetry.example.com', '*.internal'], routes: ['/health', '/internal/*'] };
    expect(createFilter({ exclude }, undefined).records(at(url))).toBe(expected);
  });

  it('leave the posts to the own endpoint out, not other calls to its host', () => {
    const filter = createFilter({}, 'http://c:4318/v1/traces');
    const urls = ['http://c:4318/v1/traces', 'http://c:4318/v1/metrics', 'http://c:4318/v1/chat/completions', 'http://c/v1/traces']; // prettier-ignore
    expect(urls.map((url) => filter.records(at(url)))).toEqual([false, false, true, true]);
  });
});
