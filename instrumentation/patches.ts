/**
 * The one place that replaces properties of globals and built-in modules, and the only module-level mutable state.
 * Each replacement keeps the property's descriptor and can be undone.
 */
interface Patch {
  readonly target: object;
  readonly key: PropertyKey;
  readonly descriptor: PropertyDescriptor | undefined;
  readonly replacement: PropertyDescriptor;
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
  return replaceProperty(
    target,
    key,
    descriptor !== undefined && 'value' in descriptor
      ? { ...descriptor, value: replacement }
      : { value: replacement, configurable: true, writable: true, enumerable: descriptor?.enumerable ?? true },
  );
}

/** Replaces a property by a descriptor, a getter for example; `false` when it cannot be replaced. */
export function replaceProperty(target: object, key: PropertyKey, replacement: PropertyDescriptor): boolean {
  const descriptor = Object.getOwnPropertyDescriptor(target, key);
  try {
    Object.defineProperty(target, key, replacement);
  } catch {
    // Not configurable: the caller is told by the return value.
    return false;
  }
  applied.push({ target, key, descriptor, replacement });
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

/** How many replacements stand: where `undoPatches` goes back to. */
export function patchCount(): number {
  return applied.length;
}

/** Undoes every patch made since there were `count`, the last one first. What others have replaced since stays theirs. */
export function undoPatches(count = 0): void {
  for (const { target, key, descriptor, replacement } of applied.splice(count).reverse()) {
    const now = Object.getOwnPropertyDescriptor(target, key);
    if (now?.value !== replacement.value || now?.get !== replacement.get) continue;
    if (descriptor === undefined) Reflect.deleteProperty(target, key);
    else Object.defineProperty(target, key, descriptor);
  }
}
