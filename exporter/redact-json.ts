import type { TypedJson } from '../instrumentation/schema/records';
import type { Tokens } from './redaction-key';
import { CREDENTIAL_FIELD } from './redaction-rules';

export interface JsonRules {
  readonly text: (text: string) => string;
  readonly tokens: Tokens;
}

/** Nesting beyond this cannot come from a program's own values. */
const MAX_DEPTH = 500;

/** Redacts the texts of a JSON value; the same value when it holds no secret. */
export function redactJson(value: TypedJson, rules: JsonRules, depth = 0): TypedJson {
  if (typeof value === 'string') return rules.text(value);
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value;
  let changed = false;
  if (Array.isArray(value)) {
    const list = value.map((item: unknown) => {
      const next = redactJson(item, rules, depth + 1);
      changed ||= next !== item;
      return next;
    });
    return changed ? list : value;
  }
  const entries = Object.entries(value).map(([key, item]): [string, unknown] => {
    const secret = typeof item === 'string' && item !== '' && CREDENTIAL_FIELD.test(key);
    const next = secret ? rules.tokens(item) : redactJson(item, rules, depth + 1);
    changed ||= next !== item;
    return [key, next];
  });
  return changed ? Object.fromEntries(entries) : value;
}
