import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Config } from '../instrumentation/config';
import { ReenactError } from '../instrumentation/schema/errors';
import { wholeBody } from '../instrumentation/schema/whole-body';
import type {
  AttributeValue,
  CallRecord,
  ExchangeRecord,
  TypedJson,
  WireRequest,
  WireResponse,
} from '../instrumentation/schema/records';
import { redactBody, type BodyRules } from './redact-body';
import { redactJson } from './redact-json';
import { redactUrl, redactRequestHeaders, redactResponseHeaders } from './redact-wire';
import { KnownSecrets } from './known-secrets';
import { createTokens } from './redaction-key';
import {
  MAY_HOLD_SECRET,
  PROTOCOL_IDS,
  SECRET_OPTION,
  SECRET_OPTION_NAME,
  secretShapes,
  TOKEN_ENDPOINT,
} from './redaction-rules';
import type { Place } from './redaction-place';

/** A custom redaction: gives the text back, unchanged or not. Synchronous. */
export type RedactFunction = (text: string, where: Place) => string;

/** Takes secrets out before anything is hashed, written or sent. Returns the same object when it holds none. */
export interface Redactor {
  request(request: WireRequest): WireRequest;
  /** `request` tells endpoints that hand out tokens. */
  response(response: WireResponse, request?: WireRequest): WireResponse;
  json(value: TypedJson): TypedJson;
  text(text: string): string;
  argv(argv: readonly string[]): readonly string[];
  /** All of the above for a whole record, its view for people too; an exchange is changed in place. */
  record<R extends CallRecord>(record: R): R;
}

export interface RedactorOptions {
  readonly config: Config;
  /** In place of the module of the configuration. */
  readonly custom?: RedactFunction;
}

/** The redaction of the configured store and patterns. @throws ReenactError CONFIG_INVALID */
export function createRedactor({ config, custom = loadCustom(config) }: RedactorOptions): Redactor {
  const keyed = createTokens(config.spool ? config.store : undefined);
  const secrets = new KnownSecrets(keyed);
  const tokens = (secret: string): string => secrets.learn(secret);
  const patterns = compile(config.file.redact?.patterns ?? []);
  // What a shape tells is told by it everywhere, so it need not be kept.
  const shapes = (text: string): string =>
    secrets.replace(MAY_HOLD_SECRET.test(text) ? text.replace(secretShapes(), (secret) => keyed(secret)) : text);
  const own =
    patterns.length === 0 && custom === undefined
      ? undefined
      : (text: string, where: Place): string => {
          const cut = patterns.reduce((rest, pattern) => replaceOutsideIds(rest, pattern, tokens), text);
          return custom === undefined ? cut : String(custom(cut, where));
        };
  const clean = (text: string, where: Place): string => {
    const safe = shapes(text);
    return own === undefined ? safe : own(safe, where);
  };
  const rules: BodyRules = { shapes, own, tokens, secrets, recent: new Map() };
  const redactor: Redactor = {
    request(request) {
      const url = redactUrl(request.url, tokens);
      const body = redactBody(request.body, {
        rules,
        place: 'request',
        tokenEndpoint: TOKEN_ENDPOINT.test(url),
        key: url,
        headers: request.headers,
      });
      const headers = redactRequestHeaders(request.headers, body === request.body ? undefined : body.length);
      const same = url === request.url && body === request.body && headers === request.headers;
      return same ? request : { method: request.method, url, headers, body };
    },
    response: (response, request) =>
      redactResponse(response, { rules, tokenEndpoint: request !== undefined && TOKEN_ENDPOINT.test(request.url) }),
    json: (value) => redactJson(value, { text: (text) => clean(text, { place: 'tool' }), tokens }),
    text: (text) => option(clean(text, { place: 'argv' }), tokens),
    argv: (argv) =>
      argv.map((arg, i) => (SECRET_OPTION_NAME.test(argv[i - 1] ?? '') ? tokens(arg) : redactor.text(arg))),
    record: (record) =>
      redactRecord(record, {
        redactor,
        text: (text) => clean(text, { place: 'attribute' }),
        hasOwnRules: own !== undefined,
      }),
  };
  return redactor;
}

function option(text: string, tokens: (secret: string) => string): string {
  const match = SECRET_OPTION.exec(text);
  return match === null ? text : `${match[1]}=${tokens(match[2] as string)}`;
}

function compile(patterns: readonly string[]): RegExp[] {
  return patterns.map((pattern) => {
    try {
      return new RegExp(pattern, 'gu');
    } catch (cause) {
      throw new ReenactError('CONFIG_INVALID', `redact.patterns: ${(cause as Error).message}`, { cause });
    }
  });
}

function loadCustom(config: Config): RedactFunction | undefined {
  const name = config.file.redact?.module;
  if (name === undefined) return undefined;
  let loaded: unknown;
  try {
    loaded = createRequire(join(config.configDir, 'reenact.config.json'))(name);
  } catch (cause) {
    throw new ReenactError('CONFIG_INVALID', `redact.module ${name} cannot be loaded: ${(cause as Error).message}`, {
      cause,
    });
  }
  const custom = typeof loaded === 'function' ? loaded : (loaded as { default?: unknown } | undefined)?.default;
  if (typeof custom !== 'function') {
    throw new ReenactError('CONFIG_INVALID', `redact.module ${name} must export a function as its default`);
  }
  return custom as RedactFunction;
}

function replaceOutsideIds(text: string, pattern: RegExp, tokens: (secret: string) => string): string {
  if (text.search(pattern) < 0) return text;
  let out = '';
  let at = 0;
  for (const id of text.matchAll(PROTOCOL_IDS)) {
    out += text.slice(at, id.index).replace(pattern, (secret) => (secret === '' ? '' : tokens(secret))) + id[0];
    at = id.index + id[0].length;
  }
  return out + text.slice(at).replace(pattern, (secret) => (secret === '' ? '' : tokens(secret)));
}

function redactResponse(
  response: WireResponse,
  { rules, tokenEndpoint }: { rules: BodyRules; tokenEndpoint: boolean },
): WireResponse {
  const whole = wholeBody(response.chunks);
  const body = redactBody(whole, { rules, place: 'response', tokenEndpoint, headers: response.headers });
  const headers = redactResponseHeaders(response.headers, rules.tokens, body === whole ? undefined : body.length);
  if (body === whole) return headers === response.headers ? response : { ...response, headers };
  let at = 0;
  const chunks = response.chunks.map((chunk, i) => {
    const end = i === response.chunks.length - 1 ? body.length : Math.min(body.length, at + chunk.bytes.length);
    const bytes = body.subarray(at, end);
    at = end;
    return { ...chunk, bytes };
  });
  return { ...response, headers, chunks };
}

interface RecordRules {
  readonly redactor: Redactor;
  readonly text: (text: string) => string;
  readonly hasOwnRules: boolean;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

function redactRecord<R extends CallRecord>(record: R, rules: RecordRules): R {
  const call: CallRecord = record;
  if (call.kind === 'llm' || call.kind === 'http') return redactExchange(call, rules) as R;
  const { redactor, text } = rules;
  const fields: Record<string, unknown> = {};
  for (const name of ['args', 'result', 'thrown', 'value', 'data'] as const) {
    const value = (call as unknown as Record<string, unknown>)[name];
    if (value !== undefined) fields[name] = redactor.json(value);
  }
  if (call.error !== undefined) fields['error'] = { ...call.error, message: text(call.error.message) };
  if (call.attributes !== undefined) fields['attributes'] = redactView(call.attributes, text);
  const changed = Object.entries(fields).some(
    ([name, value]) => value !== (record as unknown as Record<string, unknown>)[name],
  );
  return changed ? { ...record, ...fields } : record;
}

/** In place: nobody but the recorder has seen the record, and a copy costs more than the look for secrets. */
function redactExchange(call: Mutable<ExchangeRecord>, { redactor, text, hasOwnRules }: RecordRules): ExchangeRecord {
  const { request, response, attributes, error } = call;
  call.request = redactor.request(request);
  if (response !== undefined) call.response = redactor.response(response, request);
  if (error !== undefined) call.error = { ...error, message: text(error.message) };
  // The view is made of the bodies: what was not found in them is not in it either.
  const isViewClean =
    !hasOwnRules &&
    error === undefined &&
    call.request.body === request.body &&
    call.request.url === request.url &&
    call.response?.chunks === response?.chunks;
  if (attributes !== undefined && !isViewClean) call.attributes = redactView(attributes, text);
  return call;
}

function redactView(
  view: Readonly<Record<string, AttributeValue>>,
  text: (text: string) => string,
): Record<string, AttributeValue> {
  return Object.fromEntries(
    Object.entries(view).map(([key, value]) => [
      key,
      typeof value === 'string' ? text(value) : typeof value === 'object' ? value.map(text) : value,
    ]),
  );
}
