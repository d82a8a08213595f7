import type { HeaderList } from '../instrumentation/schema/records';
import type { Tokens } from './redaction-key';
import { CREDENTIAL_HEADER, KEY_PARAMETER, PAGE_PARAMETER, TOKEN_PARAMETER } from './redaction-rules';

/** What a credential that never comes back to the program is replaced with. */
const REDACTED = 'redacted';

/** Shorter values of ambiguous parameters are not secrets. */
const SHORTEST_TOKEN = 16;

/**
 * A URL without user information. Keys become a constant: a replay runs with other keys and must find the same
 * address. Tokens become tokens of ours: two addresses that differ by them stay different.
 */
export function redactUrl(url: string, tokens: Tokens): string {
  const noUser = url.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#@]*@/i, '$1');
  const query = noUser.indexOf('?');
  if (query < 0) return noUser;
  const hash = noUser.indexOf('#', query);
  const end = hash < 0 ? noUser.length : hash;
  const parameters = noUser.slice(query + 1, end).split('&');
  const safe = parameters.map((parameter) => redactParameter(parameter, tokens));
  return noUser.slice(0, query + 1) + safe.join('&') + noUser.slice(end);
}

function redactParameter(parameter: string, tokens: Tokens): string {
  const at = parameter.indexOf('=');
  if (at <= 0) return parameter;
  const name = parameter.slice(0, at);
  const value = parameter.slice(at + 1);
  if (KEY_PARAMETER.test(name)) return `${name}=${REDACTED}`;
  if (!TOKEN_PARAMETER.test(name) || PAGE_PARAMETER.test(name) || value.length < SHORTEST_TOKEN) return parameter;
  return `${name}=${name === 'key' ? REDACTED : tokens(value)}`;
}

/** Request headers without credentials; `length` corrects `content-length` after the body changed. */
export function redactRequestHeaders(headers: HeaderList, length?: number): HeaderList {
  return mapHeaders(headers, length, (name, value) => {
    const scheme = /^(?:proxy-)?authorization$/i.test(name) ? /^(\S+) /.exec(value)?.[0] : undefined;
    return `${scheme ?? ''}${REDACTED}`;
  });
}

/** Response headers with credentials as tokens: the program sees them in a replay and sends them back. */
export function redactResponseHeaders(headers: HeaderList, tokens: Tokens, length?: number): HeaderList {
  return mapHeaders(headers, length, (name, value) => {
    if (!/^set-cookie$/i.test(name)) return tokens(value);
    return value.replace(/^([^=;]+)=([^;]*)/, (whole, cookie: string, secret: string) =>
      secret === '' ? whole : `${cookie}=${tokens(secret)}`,
    );
  });
}

function mapHeaders(
  headers: HeaderList,
  length: number | undefined,
  replace: (name: string, value: string) => string,
): HeaderList {
  let changed = false;
  const safe = headers.map(([name, value]) => {
    let next = value;
    if (CREDENTIAL_HEADER.test(name)) next = replace(name, value);
    else if (length !== undefined && /^content-length$/i.test(name)) next = String(length);
    changed ||= next !== value;
    return [name, next] as const;
  });
  return changed ? safe : headers;
}
