import * as Module from 'node:module';
import { whereAmI } from './threads';
import { applyReplacements } from './commonjs-exports';
import { installEsmHooks } from './esm-hooks/install';
import { pathEnding } from './esm-hooks/path-ending';
import { patch } from './patches';
import type { LoadedModule, ModuleTarget } from './module-target';

/** A CommonJS file of every installed copy of a package, such as `undici/index.js`, to look at and not to replace. */
export function packageFile(path: string, onLoad: (exports: unknown) => void): ModuleTarget {
  return {
    files: [],
    fileEndings: [path],
    canBeEsm: false,
    exportNames: [],
    onLoad: (exports) => {
      onLoad(exports);
      return undefined;
    },
  };
}

export interface ModuleHookOptions {
  /** Told of a failure of our own; the program never sees it. */
  readonly onError: (place: string, error: unknown) => void;
}

/**
 * Calls `onLoad` of each target when its module loads, by `require`, `import`, `import()` or `require` of ESM, in
 * JavaScript and TypeScript, and puts the replacements in place. Does nothing on Node's loader thread. The result ends
 * it: modules loaded from then on are left alone.
 */
export function installModuleHooks(targets: readonly ModuleTarget[], options: ModuleHookOptions): () => void {
  if (targets.length === 0 || whereAmI() === 'loader') return () => undefined;
  const hooks = new ModuleHooks(targets, options);
  hooks.installCommonJs();
  const endEsm = hooks.esmTargets.length > 0 ? installEsmHooks(hooks) : undefined;
  return () => {
    hooks.active = false;
    endEsm?.();
  };
}

const NONE: readonly ModuleTarget[] = [];

/** The targets of one installation, and what both module systems do with them. */
export class ModuleHooks {
  active = true;
  readonly esmTargets: readonly ModuleTarget[];
  private readonly byFile = new Map<string, ModuleTarget[]>();
  private readonly byEnding: readonly (readonly [string, ModuleTarget])[];
  private readonly options: ModuleHookOptions;

  constructor(targets: readonly ModuleTarget[], options: ModuleHookOptions) {
    this.options = options;
    this.esmTargets = targets.filter((target) => target.canBeEsm);
    this.byEnding = targets.flatMap((target) =>
      (target.fileEndings ?? []).map((ending) => [pathEnding(ending), target] as const),
    );
    for (const target of targets)
      for (const file of target.files) this.byFile.set(file, [...(this.byFile.get(file) ?? []), target]);
  }

  targetsOf(filename: string, specifier?: string): readonly ModuleTarget[] {
    const found = this.byFile.get(filename) ?? NONE;
    if (this.byEnding.length === 0 && specifier === undefined) return found;
    const path = process.platform === 'win32' ? filename.replaceAll('\\', '/') : filename;
    const more = new Set(found);
    for (const [ending, target] of this.byEnding) if (path.endsWith(ending)) more.add(target);
    if (specifier !== undefined)
      for (const target of this.esmTargets) if (target.specifiers?.includes(specifier) === true) more.add(target);
    return [...more];
  }

  /** Asks the targets; the first replacement of a name holds. */
  collect(targets: readonly ModuleTarget[], exports: unknown, module: LoadedModule): Map<string, unknown> {
    const replacements = new Map<string, unknown>();
    for (const target of targets) {
      const replaced = this.guard(() => target.onLoad(exports, module));
      for (const [name, value] of replaced ?? []) if (!replacements.has(name)) replacements.set(name, value);
    }
    return replacements;
  }

  guard<T>(fn: () => T): T | undefined {
    try {
      return fn();
    } catch (error) {
      this.options.onError('module hook', error);
      return undefined;
    }
  }

  /**
   * Replaced: `Module.prototype.load`. Why here: every CommonJS file comes through it, also when it is imported from
   * ESM, transpiled by a loader or an ESM file that is required, and its exports are complete afterwards. What breaks:
   * code between two circular `require`s may have kept exports that were not replaced yet.
   */
  installCommonJs(): void {
    const prototype = (Module as unknown as { Module: { prototype: LoadablePrototype } }).Module.prototype;
    const afterLoad = (module: LoadableModule, filename: unknown): void => {
      if (this.active && typeof filename === 'string') this.guard(() => this.commonJsLoaded(module, filename));
    };
    patch(
      prototype,
      'load',
      (original) =>
        function load(this: LoadableModule, ...args: [string]) {
          const result = original.apply(this, args);
          afterLoad(this, args[0]);
          return result;
        },
    );
  }

  private commonJsLoaded(module: LoadableModule, filename: string): void {
    const end = filename.indexOf('?');
    const file = end === -1 ? filename : filename.slice(0, end);
    // Assigned only for a target: a setter of the program on `module` would notice.
    if (this.targetsOf(file).length > 0) module.exports = this.replacedExports(module.exports, file);
  }

  /** What the exports of a CommonJS module become. */
  replacedExports(exports: unknown, file: string): unknown {
    const module: LoadedModule = { format: 'commonjs', file, reassigned: [] };
    return applyReplacements(exports, this.collect(this.targetsOf(file), exports, module));
  }
}

interface LoadableModule {
  exports: unknown;
}

interface LoadablePrototype {
  load(this: LoadableModule, filename: string): unknown;
}
