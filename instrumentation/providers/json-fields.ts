/** A JSON object whose fields are not yet known to have any type. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** True for `{…}`: neither null nor an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value as an object; an empty one when it is anything else. */
export function asObject(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** The value as a list; an empty one when it is anything else. */
export function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The elements of a list that are objects. */
export function objectsOf(value: unknown): JsonObject[] {
  return asArray(value).filter(isObject);
}

/** The value as text; undefined when it is anything else. */
export function asString(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The value as text that is not empty. */
export function asText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The value as a finite number; undefined when it is anything else. */
export function asNumber(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** Parses text; undefined when it is not JSON (no JSON text means undefined). */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // Whether text is JSON is the question asked; `undefined` is the answer "no".
    return undefined;
  }
}

/** Text that a program or a model wrote, as the JSON value it stands for, or as it is. */
export function jsonOrText(text: string): unknown {
  const value = parseJson(text);
  if (value === undefined) return text;
  // A long number would come back rounded, so it stays text.
  return typeof value === 'number' && String(value) !== text.trim() ? text : value;
}

/** Text as a view shows it: the value it stands for when it is short, else the text, which is cut anyway. */
export function readable(value: unknown): unknown {
  return typeof value === 'string' && value.length <= 4096 ? jsonOrText(value) : (value ?? null);
}

/** A copy without some of the fields. */
export function without(object: JsonObject, ...names: string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
}
