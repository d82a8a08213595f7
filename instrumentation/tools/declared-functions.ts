import { functionKind, isWrapped } from './wrap-function';
import type { FunctionKind } from './wrap-function';
import type { AnyFunction } from './declared';

/** What became of one declared export. */
export interface DeclaredExport {
  /** As declared, with `*` replaced by what it stood for. */
  readonly path: string;
  readonly state: 'wrapped' | 'absent' | 'class' | 'not a function' | 'read-only' | 'assigned later';
  /** The name in recordings. */
  readonly name?: string;
  readonly kind?: FunctionKind;
}

type Wrap = (path: string, fn: AnyFunction) => { readonly wrapped: AnyFunction; readonly name: string };

/**
 * Wraps the members that a path such as `registry.getOrder` or `registry.*` names, in place: the program may hold the
 * object itself, and dispatch through it from within its own module.
 */
export function wrapMembers(root: unknown, path: readonly string[], wrap: Wrap): DeclaredExport[] {
  const [first = '', ...members] = path;
  const found = reach(root, first, members.slice(0, -1));
  const last = members.at(-1) ?? '';
  if (found === undefined) return [{ path: path.join('.'), state: 'absent' }];
  const keys = last === '*' ? functionKeys(found.holder) : [last];
  if (keys.length === 0) return [{ path: path.join('.'), state: 'absent' }];
  return keys.map((key) => wrapMember(found.holder, key, { path: `${found.path}.${key}`, wrap }));
}

/** Decides on one function; the state says why it was left alone. */
export function wrapValue(path: string, value: unknown, wrap: Wrap): DeclaredExport & { wrapped?: AnyFunction } {
  if (value === undefined) return { path, state: 'absent' };
  if (typeof value !== 'function') return { path, state: 'not a function' };
  const fn = value as AnyFunction;
  const kind = functionKind(fn);
  if (kind === 'class') return { path, state: 'class', kind };
  const { wrapped, name } = wrap(path, fn);
  return { path, state: 'wrapped', kind, name, wrapped };
}

function reach(root: unknown, first: string, between: readonly string[]): { holder: object; path: string } | undefined {
  let holder = root;
  for (const key of between) holder = isHolder(holder) ? read(holder, key) : undefined;
  return isHolder(holder) ? { holder, path: [first, ...between].join('.') } : undefined;
}

function isHolder(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

function read(holder: object, key: string): unknown {
  if (holder instanceof Map) return holder.get(key) as unknown;
  if (Object.hasOwn(holder, key)) return Reflect.get(holder, key) as unknown;
  // Methods of a class instance; what every object has is not the program's.
  return key in Object.prototype || key === 'constructor' ? undefined : (Reflect.get(holder, key) as unknown);
}

function functionKeys(holder: object): string[] {
  if (holder instanceof Map)
    return [...holder]
      .filter(([key, value]) => typeof key === 'string' && typeof value === 'function')
      .map(([key]) => key as string);
  const keys = new Set<string>();
  for (
    let level: object | null = holder;
    level !== null && !isBuiltIn(level);
    level = Object.getPrototypeOf(level) as object | null
  ) {
    for (const [key, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(level)))
      if (key !== 'constructor' && typeof descriptor.value === 'function') keys.add(key);
    // Getters of the object itself (compiled re-exports) may hold functions, those of a class may have effects.
    if (level === holder)
      for (const [key, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(level)))
        if (descriptor.get !== undefined && typeof Reflect.get(level, key) === 'function') keys.add(key);
  }
  return [...keys];
}

function isBuiltIn(level: object): boolean {
  return level === Object.prototype || level === Function.prototype || level === Array.prototype;
}

function wrapMember(holder: object, key: string, { path, wrap }: { path: string; wrap: Wrap }): DeclaredExport {
  const value = read(holder, key);
  const { wrapped, ...result } = wrapValue(path, value, wrap);
  if (wrapped === undefined || (typeof value === 'function' && isWrapped(value as AnyFunction))) return result;
  if (holder instanceof Map) {
    holder.set(key, wrapped);
    return result;
  }
  const own = Object.getOwnPropertyDescriptor(holder, key);
  const descriptor: PropertyDescriptor =
    own === undefined
      ? { value: wrapped, writable: true, configurable: true, enumerable: false }
      : 'value' in own
        ? { ...own, value: wrapped }
        : {
            enumerable: own.enumerable ?? true,
            configurable: true,
            get: () => wrapped,
            ...(own.set && { set: own.set }),
          };
  return Reflect.defineProperty(holder, key, descriptor) ? result : { path, state: 'read-only' };
}
