export interface Difference {
  /** JSON Pointer (RFC 6901). */
  readonly path: string;
  readonly expected: unknown;
  readonly actual: unknown;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const escapeStep = (step: string): string => step.replaceAll('~', '~0').replaceAll('/', '~1');

/** The first place, in document order, where two JSON values differ; `undefined` when they are equal. */
export function firstDifference(expected: unknown, actual: unknown, path = ''): Difference | undefined {
  if (Array.isArray(expected) && Array.isArray(actual)) {
    for (let i = 0; i < Math.max(expected.length, actual.length); i++) {
      const difference = firstDifference(expected[i], actual[i], `${path}/${i}`);
      if (difference !== undefined) return difference;
    }
    return undefined;
  }
  if (isObject(expected) && isObject(actual)) {
    for (const key of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
      const a = Object.hasOwn(expected, key) ? expected[key] : undefined;
      const b = Object.hasOwn(actual, key) ? actual[key] : undefined;
      const difference = firstDifference(a, b, `${path}/${escapeStep(key)}`);
      if (difference !== undefined) return difference;
    }
    return undefined;
  }
  return Object.is(expected, actual) ? undefined : { path, expected, actual };
}
