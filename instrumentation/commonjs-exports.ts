import { types } from 'node:util';
import type { Replacements } from './module-target';

/**
 * Puts replacements into the exports of a CommonJS module: in place where the properties allow it, so that whoever
 * holds the object already sees them; otherwise in a copy with the same prototype and descriptors (exports of esbuild
 * and TypeScript are getters that cannot be redefined, those of an ESM namespace are read-only).
 */
export function applyReplacements(exports: unknown, replacements: Replacements): unknown {
  if (replacements.size === 0) return exports;
  if (replacements.has('module.exports')) {
    const members = new Map([...replacements].filter(([name]) => name !== 'module.exports'));
    applyReplacements(exports, members);
    return replacements.get('module.exports');
  }
  if ((typeof exports !== 'object' && typeof exports !== 'function') || exports === null) return exports;
  if (types.isModuleNamespaceObject(exports)) return copyOf(exports, replacements);
  const fixed = [...replacements.keys()].some((name) => !canRedefine(exports, name));
  if (fixed && typeof exports === 'object') return copyOf(exports, replacements);
  for (const [name, value] of replacements)
    if (canRedefine(exports, name)) Object.defineProperty(exports, name, replacedDescriptor(exports, name, value));
  return exports;
}

function canRedefine(exports: object, name: string): boolean {
  const descriptor = Object.getOwnPropertyDescriptor(exports, name);
  if (descriptor === undefined) return Object.isExtensible(exports);
  return descriptor.configurable === true || descriptor.writable === true;
}

function replacedDescriptor(exports: object, name: string, value: unknown): PropertyDescriptor {
  const descriptor = Object.getOwnPropertyDescriptor(exports, name);
  if (descriptor === undefined) return { value, writable: true, configurable: true, enumerable: true };
  const { enumerable, configurable } = descriptor;
  if ('value' in descriptor) return { ...descriptor, value };
  return {
    enumerable: enumerable ?? true,
    configurable: configurable ?? true,
    get: () => value,
    ...(descriptor.set && { set: descriptor.set }),
  };
}

function copyOf(exports: object, replacements: Replacements): object {
  const live = types.isModuleNamespaceObject(exports);
  const copy = Object.create(Object.getPrototypeOf(exports) as object | null) as object;
  for (const key of Reflect.ownKeys(exports)) {
    const descriptor = Object.getOwnPropertyDescriptor(exports, key);
    if (descriptor === undefined) continue;
    if (typeof key === 'string' && replacements.has(key)) {
      const value = replacements.get(key);
      Object.defineProperty(copy, key, {
        enumerable: descriptor.enumerable ?? true,
        configurable: true,
        get: () => value,
      });
    } else if (live && typeof key === 'string') {
      // Bindings of an ESM module may change after it has loaded.
      Object.defineProperty(copy, key, {
        enumerable: true,
        configurable: true,
        get: () => Reflect.get(exports, key) as unknown,
      });
    } else Object.defineProperty(copy, key, descriptor);
  }
  return copy;
}
