import { syncBuiltinESMExports } from 'node:module';

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- signatures of patched functions are their owners' matter
export type AnyFunction = (this: any, ...args: any[]) => any;

interface Applied {
  readonly owner: object;
  readonly name: string;
  readonly before: PropertyDescriptor;
  readonly replacement: AnyFunction;
}

/** Functions of Node's modules that stand replaced, and how they were before. */
export class Patches {
  readonly #applied: Applied[] = [];

  /** Replaces a function; a name that this Node does not have is left alone. */
  replace(owner: object, name: string, make: (original: AnyFunction) => AnyFunction): void {
    const before = Object.getOwnPropertyDescriptor(owner, name);
    if (before === undefined || typeof before.value !== 'function') return;
    const original = before.value as AnyFunction;
    const replacement = make(original);
    Object.defineProperty(replacement, 'name', { value: original.name, configurable: true });
    Object.defineProperty(owner, name, { ...before, value: replacement });
    this.#applied.push({ owner, name, before, replacement });
  }

  /** Makes the replacements visible to `import { … } from 'node:…'`. */
  publish(): void {
    syncBuiltinESMExports();
  }

  /** Puts everything back that nobody has replaced since. */
  undo(): void {
    for (const { owner, name, before, replacement } of this.#applied.reverse()) {
      if (Object.getOwnPropertyDescriptor(owner, name)?.value === replacement)
        Object.defineProperty(owner, name, before);
    }
    this.#applied.length = 0;
    syncBuiltinESMExports();
  }
}
