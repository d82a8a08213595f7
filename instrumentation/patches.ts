/**
 * The one place that replaces properties of globals and built-in modules, and the only module-level mutable state.
 * Each replacement keeps the property's descriptor and can be undone.
 */
interface Patch {
  readonly target: object;
  readonly key: PropertyKey;
  readonly descriptor: PropertyDescriptor | undefined;
}

const applied: Patch[] = [];

/**
 * Replaces `target[key]` by `make(original)`. A property that cannot be replaced (frozen, not configurable) is left as
 * it is and `false` is returned: a missing hook must never break the program.
 */
export function patch<T extends object, K extends keyof T>(target: T, key: K, make: (original: T[K]) => T[K]): boolean {
  const descriptor = Object.getOwnPropertyDescriptor(target, key);
  const original = target[key];
  const replacement = make(original);
  if (typeof replacement === 'function' && typeof original === 'function') keepSignature(replacement, original);
  try {
    if (descriptor !== undefined && 'value' in descriptor)
      Object.defineProperty(target, key, { ...descriptor, value: replacement });
    else
      Object.defineProperty(target, key, {
        value: replacement,
        configurable: true,
        writable: true,
        enumerable: descriptor?.enumerable ?? true,
      });
  } catch {
    // Not configurable: the caller is told by the return value.
    return false;
  }
  applied.push({ target, key, descriptor });
  return true;
}

/** Name, length and own properties (`util.promisify.custom`, …) are what a program can see of a function. */
function keepSignature(replacement: object, original: object): void {
  for (const key of Reflect.ownKeys(original)) {
    if (key === 'prototype' || key === 'arguments' || key === 'caller') continue;
    const descriptor = Object.getOwnPropertyDescriptor(original, key);
    const own = Object.getOwnPropertyDescriptor(replacement, key);
    if (
      descriptor !== undefined &&
      own?.configurable !== false &&
      !(own !== undefined && key !== 'name' && key !== 'length')
    ) {
      Object.defineProperty(replacement, key, descriptor);
    }
  }
}

/** Undoes every patch, the last one first; for tests. */
export function undoPatches(): void {
  for (const { target, key, descriptor } of applied.splice(0).reverse()) {
    if (descriptor === undefined) Reflect.deleteProperty(target, key);
    else Object.defineProperty(target, key, descriptor);
  }
}
