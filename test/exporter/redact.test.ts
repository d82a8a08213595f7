import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { createRedactor, type RedactorOptions } from '../../exporter/redact';
import { readConfig, type ConfigFile } from '../../instrumentation/config';
import type { ExchangeRecord, WireResponse } from '../../instrumentation/schema/records';
import { exchange } from './record-samples';

const folder = (): string => fs.mkdtempSync(join(tmpdir(), 'reenact-redact-'));
const make = (file: ConfigFile = {}, dir = folder(), custom?: RedactorOptions['custom']) =>
  createRedactor({
    config: { ...readConfig({ REENACT_DIR: join(dir, '.reenact') }, dir), file },
    ...(custom && { custom }),
  });

const SECRETS = [
  'sk-proj-abcdefghijklmnopqrstuvwxyz0123456789',
  'sk-ant-api03-abcdefghijklmnopqrstuvwxyz',
  'AIzaSyA1234567890abcdefghijklmnopqrstuv',
  'ghp_abcdefghijklmnopqrstuvwxyz0123456789',
  'xoxb-123456789012-abcdefghij',
  'AKIAIOSFODNN7EXAMPLE',
  'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U',
  '-----BEGIN RSA PRIVATE KEY-----\\nMIIEpAIBAAKCAQEA\\n-----END RSA PRIVATE KEY-----',
];

const withBody = (body: string, over: Partial<ExchangeRecord['request']> = {}) => ({
  ...exchange(body).request,
  ...over,
});
const answer = (chunks: Buffer[], headers: WireResponse['headers'] = []): WireResponse => ({
  status: 200,
  statusText: 'OK',
  headers,
  headSeq: 1,
  headMs: 1,
  chunks: chunks.map((bytes, i) => ({ seq: 2 + i, ms: 2 + i, bytes })),
  trailers: [],
});
const bodyOf = (response: WireResponse): Buffer => Buffer.concat(response.chunks.map((chunk) => chunk.bytes));

test('returns the same object when there is no secret', () => {
  const redactor = make();
  const request = withBody(
    '{"messages":[{"role":"tool","tool_call_id":"call_abcdefghijklmnopqrstuvwx","content":"sk-1"}]}',
  );
  expect(redactor.request(request)).toBe(request);
  const response = answer([Buffer.from('{"id":"chatcmpl-abcdefghijklmnopqrstuvwxyz012345"}')]);
  expect(redactor.response(response)).toBe(response);
  const value = { a: [{ b: 'toolu_01abcdefghijklmnopqrstuv' }] };
  expect(redactor.json(value)).toBe(value);
  const record = exchange('{}', { response: response });
  expect(redactor.record(record)).toBe(record);
});

test.each(SECRETS)('%s in a body becomes a token as long as it, the same each time', (secret) => {
  const redactor = make();
  const body = `{"a":"${secret}","b":"${secret}"}`;
  const safe = redactor.request(withBody(body)).body.toString();
  expect(safe).not.toContain(secret);
  const { a, b } = JSON.parse(safe) as { a: string; b: string };
  expect(a).toBe(b);
  expect(safe).toHaveLength(body.length);
  expect(redactor.json({ k: JSON.parse(`"${secret}"`) as string })).not.toEqual({ k: JSON.parse(`"${secret}"`) });
});

test('a token stays as it is when it is redacted again', () => {
  const redactor = make();
  const once = redactor.request(withBody(`{"a":"${SECRETS[0]}"}`));
  expect(redactor.request(once)).toBe(once);
});

test('two redactors of one store give the same token, two stores do not', () => {
  const dir = folder();
  const token = (redactor: ReturnType<typeof make>) => redactor.text(SECRETS[0] as string);
  expect(token(make({}, dir))).toBe(token(make({}, dir)));
  expect(token(make())).not.toBe(token(make({}, dir)));
  expect(fs.statSync(join(dir, '.reenact', 'redaction.key')).mode & 0o777).toBe(0o600);
});

test('credentials in headers, address and user information are gone', () => {
  const request = make().request(
    withBody('{}', {
      url: 'https://u:p@x.example/v1?key=AIzaSyA1234567890abcdefghijklmnopqrstuv&api_key=k&page_token=abcdefghijklmnopqrst&q=1#h',
      headers: [
        ['Authorization', 'Bearer sk-abc'],
        ['x-api-key', 'k1'],
        ['Cookie', 'a=b'],
        ['x-stainless-retry-count', '0'],
        ['idempotency-key', 'stays'],
      ],
    }),
  );
  expect(request.url).toBe('https://x.example/v1?key=redacted&api_key=redacted&page_token=abcdefghijklmnopqrst&q=1#h');
  expect(request.headers).toEqual([
    ['Authorization', 'Bearer redacted'],
    ['x-api-key', 'redacted'],
    ['Cookie', 'redacted'],
    ['x-stainless-retry-count', '0'],
    ['idempotency-key', 'stays'],
  ]);
});

test('set-cookie keeps its name and attributes', () => {
  const response = make().response(answer([], [['Set-Cookie', 'sid=abcdef; Path=/; HttpOnly']]));
  expect(response.headers[0]?.[1]).toMatch(/^sid=redacted-[0-9a-f]+; Path=\/; HttpOnly$/);
});

test('a secret split over chunks is found, and the chunks keep their lengths', () => {
  const secret = SECRETS[0] as string;
  const pieces = [`data: x ${secret.slice(0, 10)}`, secret.slice(10), ' é\n\n'].map((text) => Buffer.from(text));
  const safe = make().response(answer(pieces));
  expect(bodyOf(safe).toString()).not.toContain(secret.slice(10));
  expect(safe.chunks.map((chunk) => chunk.bytes.length)).toEqual(pieces.map((piece) => piece.length));
});

test('a secret in a gzip answer is found, and the answer stays gzip', () => {
  const zipped = gzipSync(`{"a":"${SECRETS[3]}"}`);
  const safe = make().response(
    answer(
      [zipped],
      [
        ['content-encoding', 'gzip'],
        ['Content-Length', String(zipped.length)],
      ],
    ),
  );
  expect(gunzipSync(bodyOf(safe)).toString()).toMatch(/^\{"a":"redacted-[0-9a-f]+"\}$/);
  expect(safe.headers[1]?.[1]).toBe(String(bodyOf(safe).length));
});

test('bodies of token endpoints keep their shape without their tokens', () => {
  const redactor = make();
  const record = redactor.record(
    exchange('grant_type=refresh_token&refresh_token=abc123&client_secret=s3', {
      kind: 'http',
      request: withBody('grant_type=refresh_token&refresh_token=abc123&client_secret=s3', {
        url: 'https://id.example/oauth/token',
      }),
      response: answer([Buffer.from('{"access_token":"opaque-1","expires_in":3600}')]),
    }),
  );
  expect(record.request.body.toString()).toMatch(
    /^grant_type=refresh_token&refresh_token=redacted-\w+&client_secret=redacted-\w+$/,
  );
  const token = JSON.parse(bodyOf(record.response as WireResponse).toString()) as Record<string, unknown>;
  expect(token['access_token']).toMatch(/^redacted-/);
  expect(token['expires_in']).toBe(3600);
});

test('a secret that comes late in a growing conversation is found', () => {
  const redactor = make();
  const early = `{"messages":["${'a'.repeat(50_000)}"`;
  expect(redactor.request(withBody(`${early}]}`)).body.length).toBe(early.length + 2);
  expect(redactor.request(withBody(`${early},"${SECRETS[0]}"]}`)).body.toString()).not.toContain(SECRETS[0]);
});

test('a secret that a field of a result told is replaced in the messages that carry it on', () => {
  const redactor = make();
  const result = { access_token: 'tok-12345-secretive', note: 'pay "now"', password: 'hunter2 "x" hunter2' };
  const safe = redactor.json(result) as typeof result;
  const said = [JSON.stringify(result), `token is ${result.access_token} ok`, `pw ${result.password}`];
  const body = (texts: string[]): string => JSON.stringify({ messages: texts.map((content) => ({ content })) });
  const expected = [JSON.stringify(safe), `token is ${safe.access_token} ok`, `pw ${safe.password}`];
  expect(redactor.request(withBody(body(said))).body.toString()).toBe(body(expected));
});

test('a field of JSON within a message is found without having been told before', () => {
  const content = JSON.stringify({ apiKey: 'abcdefghijk', max_tokens: '123456789', secret: 'a long answer' });
  const safe = make()
    .request(withBody(JSON.stringify({ messages: [{ content }] })))
    .body.toString();
  const inner = JSON.parse(
    (JSON.parse(safe) as { messages: { content: string }[] }).messages[0]?.content ?? '',
  ) as object;
  expect(inner).toEqual({
    apiKey: expect.stringMatching(/^redacted-/) as string,
    max_tokens: '123456789',
    secret: 'a long answer',
  });
});

test('short values of such fields are not looked for elsewhere', () => {
  const redactor = make();
  redactor.json({ password: 'admin' });
  expect(redactor.request(withBody('{"text":"the admin"}')).body.toString()).toBe('{"text":"the admin"}');
});

test('patterns of the configuration apply outside ids and signatures of the protocol', () => {
  const redactor = make({ redact: { patterns: ['[0-9]{10,}'] } });
  const safe = redactor
    .request(withBody('{"phone":"01701234567890","id":"call_01234567890123456789"}'))
    .body.toString();
  expect(safe).toMatch(/"phone":"redacted-/);
  expect(safe).toContain('"call_01234567890123456789"');
});

test('a custom function sees every text with its place', () => {
  const places: string[] = [];
  const redactor = make({}, folder(), (text, { place }) => {
    places.push(place);
    return text.replaceAll('Ada', '<name>');
  });
  const record = redactor.record(exchange('{"n":"Ada"}', { response: answer([Buffer.from('Ada é')]) }));
  expect(record.request.body.toString()).toBe('{"n":"<name>"}');
  expect(record.request.headers.find(([name]) => name === 'content-length')?.[1]).toBe('14');
  expect(bodyOf(record.response as WireResponse).toString()).toBe('<name> é');
  expect(places).toEqual(['request', 'response']);
});

test('argv secrets go, as one argument or two', () => {
  expect(
    make()
      .argv(['node', 'a.js', '--api-key=abc', '--token', 'x', '--port=80'])
      .map((arg) => arg.replace(/redacted-\w+/, 'R')),
  ).toEqual(['node', 'a.js', '--api-key=R', '--token', 'R', '--port=80']);
});

test('the view for people and error messages are redacted with the record', () => {
  const record = make().record(
    exchange('{}', {
      attributes: { 'gen_ai.input.messages': `key ${SECRETS[0]}`, n: 1 },
      error: { name: 'E', message: `bad ${SECRETS[1]}` },
    }),
  );
  expect(JSON.stringify([record.attributes, record.error])).not.toMatch(/sk-/);
});
