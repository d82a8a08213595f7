import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../instrumentation/config';

const folder = mkdtempSync(join(tmpdir(), 'reenact-config-'));
const path = join(folder, 'reenact.config.json');
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => rmSync(path, { force: true }));
const read = (env: Record<string, string> = {}) => readConfig(env, folder);

describe('the configuration', () => {
  it('has its defaults', () => {
    expect(read()).toMatchObject({ mode: 'record', record: 'on', store: join(folder, '.reenact'), spool: true, processPath: '0', file: {}, otlp: { url: undefined, protocol: undefined, timeoutMs: 10_000 } }); // prettier-ignore
  });

  it('refuses a mode that it does not know, and takes an empty one for none', () => {
    expect(() => read({ REENACT_MODE: 'replya' })).toThrow(expect.objectContaining({ code: 'UNKNOWN_MODE' }));
    expect(read({ REENACT_MODE: '' }).mode).toBe('record');
  });

  it.each([{ REENACT_RECORD: 'off' }, { OTEL_SDK_DISABLED: 'true' }])('can be switched off by %j', (env) => {
    expect(read(env as Record<string, string>).record).toBe('off');
  });

  it.each<[Record<string, string>, string | undefined]>([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' }, 'http://c:4318/v1/traces'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318/base/' }, 'http://c:4318/base/v1/traces'],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c/own', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://d' }, 'http://c/own'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_TRACES_EXPORTER: 'none' }, undefined],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: '' }, undefined],
  ])('finds the endpoint as the OTLP specification says: %j', (env, url) => {
    expect(read(env).otlp.url).toBe(url);
  });

  it('reads headers and resource attributes percent-encoded, those for traces over the shared', () => {
    const config = read({
      OTEL_EXPORTER_OTLP_HEADERS: 'a=1,b=x%3Dy, c = z ,broken,=none',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'a=2',
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=shop,team=a%zz',
    });
    expect(config.otlp.headers).toEqual({ a: '2', b: 'x=y', c: 'z' });
    expect(config.resourceAttributes).toEqual({ 'service.name': 'shop', team: 'a%zz' });
    expect(config.serviceName).toBe('shop');
    expect(read({ OTEL_SERVICE_NAME: 'own', OTEL_RESOURCE_ATTRIBUTES: 'service.name=shop' }).serviceName).toBe('own');
  });

  it.each([
    '',
    '{',
    '[]',
    'null',
    '{"tools":{}}',
    '{"tools":[{"exports":["a"]}]}',
    '{"tools":[{"module":"m","exports":"a"}]}',
    '{"observe":[null]}',
    '{"tools":[{"module":"m","exports":["a"],"replay":"never"}]}',
  ])(
    // prettier-ignore
    'refuses a file of %j by its name',
    (text) => {
      writeFileSync(path, text);
      expect(() => read()).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(path) })); // prettier-ignore
    },
  );

  it.each([
    ['{"exlude":{"hosts":["a"]}}', '"exlude" is no field'],
    ['{"exclude":{"host":["a"]}}', '"exclude.host" is no field'],
    ['{"tools":[{"module":"./a.js","exports":["f"],"name":{}}]}', '"tools.name" is no field'],
    ['{"exclude":{"hosts":"a"}}', '"exclude.hosts" must be a list of texts'],
    ['{"ignore":[1]}', '"ignore" must be a list of texts'],
    ['{"redact":[]}', '"redact" must be an object'],
  ])('refuses %s, which would not do what it seems to say', (text, message) => {
    writeFileSync(path, text);
    expect(() => read()).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(message) }),
    );
  });

  it('takes every field that is documented', () => {
    const file = {
      $schema: 'x',
      session: { header: 'h', body: '/id' },
      tools: [{ module: './a.js', exports: ['f'], names: { f: 'g' }, replay: 'run' }],
      observe: [{ module: './b.js', exports: ['o.*'] }],
      exclude: { hosts: ['h'], routes: ['/r'] },
      redact: { module: './r.cjs', patterns: ['p'] },
      ignore: ['/seed'],
      env: ['E'],
    };
    writeFileSync(path, JSON.stringify(file));
    expect(read().file).toEqual(file);
  });

  it('refuses a named file that is absent, and does without the default one', () => {
    expect(() => read({ REENACT_CONFIG: 'other.json' })).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
    expect(read().configPath).toBeUndefined();
  });
});
