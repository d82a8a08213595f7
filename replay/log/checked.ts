import { ReenactError, type ErrorCode } from '../../instrumentation/schema/errors';

/** Plain JSON object. */
export type JsonObject = Record<string, unknown>;

/** Deepest nesting that is read; the walkers of the package recurse, so deeper input is refused before they see it. */
export const MAX_DEPTH = 500;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether no branch of a JSON value nests deeper than `MAX_DEPTH`; itself without recursion. */
export function isShallow(value: unknown, maxDepth = MAX_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return true;
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth) return false;
    const next: unknown[] = [];
    for (const item of level) {
      for (const child of Object.values(item as object)) {
        if (typeof child === 'object' && child !== null) next.push(child);
      }
    }
    level = next;
  }
  return true;
}

/** Parses JSON that may come from anywhere; `undefined` when it is not JSON, or nested beyond what is read. */
export function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isShallow(value) ? value : undefined;
  } catch {
    // Not JSON is an answer here, not a fault: the caller keeps the text.
    return undefined;
  }
}

/** Reads fields of an untrusted object; the first that has another type ends the reading with the given code. */
export class Checked {
  readonly value: JsonObject;

  constructor(
    value: unknown,
    private readonly place: string,
    private readonly code: ErrorCode = 'LOG_INVALID',
  ) {
    if (!isObject(value)) throw new ReenactError(code, `${place} must be a JSON object`);
    this.value = value;
  }

  private fail(field: string, what: string): never {
    throw new ReenactError(this.code, `${this.place}.${field} must be ${what}`);
  }

  has(field: string): boolean {
    return Object.hasOwn(this.value, field) && this.value[field] !== undefined;
  }

  string(field: string): string {
    const value = this.value[field];
    return typeof value === 'string' ? value : this.fail(field, 'a string');
  }

  number(field: string): number {
    const value = this.value[field];
    return typeof value === 'number' && Number.isFinite(value) ? value : this.fail(field, 'a number');
  }

  /** A count or an offset. */
  integer(field: string): number {
    const value = this.value[field];
    return Number.isSafeInteger(value) && (value as number) >= 0
      ? (value as number)
      : this.fail(field, 'an integer of at least 0');
  }

  boolean(field: string): boolean {
    const value = this.value[field];
    return typeof value === 'boolean' ? value : this.fail(field, 'true or false');
  }

  array(field: string): unknown[] {
    const value = this.value[field];
    return Array.isArray(value) ? (value as unknown[]) : this.fail(field, 'an array');
  }

  strings(field: string): string[] {
    const list = this.array(field);
    return list.every((item) => typeof item === 'string') ? list : this.fail(field, 'an array of strings');
  }

  object(field: string): Checked {
    return new Checked(this.value[field], `${this.place}.${field}`, this.code);
  }

  objects(field: string): Checked[] {
    return this.array(field).map((item, index) => new Checked(item, `${this.place}.${field}[${index}]`, this.code));
  }

  oneOf<T extends string>(field: string, values: readonly T[]): T {
    const value = this.value[field];
    return values.includes(value as T) ? (value as T) : this.fail(field, `one of ${values.join(', ')}`);
  }
}
