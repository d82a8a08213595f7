import { basename, extname } from 'node:path';
import type { Config, DeclaredFunctions } from '../config';
import type { LoadedModule, ModuleTarget, Replacements } from '../module-target';
import type { AnyFunction, DeclaredSpec, WrapFunction } from './declared';
import { wrapMembers, wrapValue } from './declared-functions';
import type { DeclaredExport } from './declared-functions';
import { resolveDeclared } from './resolve-declared';
import type { DeclaredPlaces } from './resolve-declared';

/** What became of one entry of `tools` or `observe` in the configuration file. */
export interface DeclaredStatus {
  readonly kind: 'tool' | 'observation';
  readonly module: string;
  /** Files the module can be; none when it was not found. */
  readonly files: readonly string[];
  readonly loaded: boolean;
  /** How it was loaded last. */
  readonly format?: 'commonjs' | 'module';
  readonly exports: readonly DeclaredExport[];
}

export interface DeclaredModules {
  /** For `installModuleHooks`. */
  readonly targets: readonly ModuleTarget[];
  /** For `doctor`: modules that are absent or were not loaded, exports that were not wrapped and why. */
  declaredStatus(): readonly DeclaredStatus[];
}

/** Turns `tools` and `observe` of the configuration file into module hooks that wrap each declared function once. */
export function declaredModules(config: Pick<Config, 'file' | 'configDir'>, wrap: WrapFunction): DeclaredModules {
  const wrapOnce = oncePerFunction(wrap);
  const entries = [
    ...(config.file.tools ?? []).map((entry) => new DeclaredEntry('tool', entry, { config, wrap: wrapOnce })),
    ...(config.file.observe ?? []).map((entry) => new DeclaredEntry('observation', entry, { config, wrap: wrapOnce })),
  ];
  return {
    targets: entries.flatMap((entry) => entry.target ?? []),
    declaredStatus: () => entries.map((entry) => entry.status),
  };
}

/** One wrapper per function, by whatever name and module system it is reached. */
function oncePerFunction(wrap: WrapFunction): WrapFunction {
  const wrappers = new WeakMap<AnyFunction, AnyFunction>();
  return <F extends AnyFunction>(spec: DeclaredSpec, fn: F): F => {
    const known = wrappers.get(fn) ?? wrap(spec, fn);
    wrappers.set(fn, known);
    // A barrel module exports the wrapper itself.
    wrappers.set(known, known);
    return known as F;
  };
}

class DeclaredEntry {
  readonly target: ModuleTarget | undefined;
  private readonly kind: 'tool' | 'observation';
  private readonly declared: DeclaredFunctions;
  private readonly wrap: WrapFunction;
  private readonly files: readonly string[];
  private loaded: { format: 'commonjs' | 'module'; exports: readonly DeclaredExport[] } | undefined;

  constructor(
    kind: 'tool' | 'observation',
    declared: DeclaredFunctions,
    { config, wrap }: { config: Pick<Config, 'configDir'>; wrap: WrapFunction },
  ) {
    this.kind = kind;
    this.declared = declared;
    this.wrap = wrap;
    const { files, specifiers, canBeEsm } = placesOf(declared.module, config.configDir);
    this.files = files;
    if (files.length === 0 && specifiers.length === 0) return;
    this.target = {
      files,
      specifiers,
      canBeEsm,
      // Members are wrapped in place: only whole exports are replaced.
      exportNames: declared.exports.filter((path) => !path.includes('.')),
      onLoad: (exports, module) => this.onLoad(exports, module),
    };
  }

  get status(): DeclaredStatus {
    const { kind, files, loaded } = this;
    const exports = loaded?.exports ?? [];
    return { kind, module: this.declared.module, files, loaded: loaded !== undefined, ...loaded, exports };
  }

  private onLoad(exports: unknown, module: LoadedModule): Replacements {
    const replacements = new Map<string, unknown>();
    const wrap = (path: string, fn: AnyFunction): { wrapped: AnyFunction; name: string } => {
      const name = this.nameOf(path, fn, module);
      return { name, wrapped: this.wrap({ kind: this.kind, name, replay: this.declared.replay ?? 'substitute' }, fn) };
    };
    const results = this.declared.exports.flatMap((path): DeclaredExport[] => {
      const [first = '', ...rest] = path.split('.');
      const { key, value } = exportOf(exports, first, module);
      if (rest.length > 0) return wrapMembers(value, [first, ...rest], wrap);
      const { wrapped, ...result } = wrapValue(path, value, wrap);
      if (module.reassigned.includes(path)) return [{ path, state: 'assigned later' }];
      if (wrapped !== undefined && wrapped !== value) replacements.set(key, wrapped);
      return [result];
    });
    this.loaded = { format: module.format, exports: results };
    return replacements;
  }

  private nameOf(path: string, fn: AnyFunction, module: LoadedModule): string {
    const names = this.declared.names ?? {};
    if (Object.hasOwn(names, path)) return names[path] ?? path;
    const last = path.slice(path.lastIndexOf('.') + 1);
    if (last !== 'default') return last;
    // esbuild calls an anonymous default export `<file>_default`.
    const anonymous = fn.name === '' || fn.name === 'default' || fn.name.endsWith('_default');
    return anonymous ? basename(module.file, extname(module.file)) : fn.name;
  }
}

/** A module that cannot be looked at counts as absent: the program may not even need it. */
function placesOf(module: string, configDir: string): DeclaredPlaces {
  try {
    return resolveDeclared(module, configDir);
  } catch {
    // Unreadable folders and the like; the status of the module says that it was not found.
    return { files: [], specifiers: [], canBeEsm: false };
  }
}

/** `default` of a CommonJS module is its `module.exports`, unless it was compiled from ESM. */
function exportOf(exports: unknown, name: string, module: LoadedModule): { key: string; value: unknown } {
  const holder = (typeof exports === 'object' && exports !== null) || typeof exports === 'function' ? exports : {};
  if (name !== 'default' || module.format === 'module' || Object.hasOwn(holder, 'default'))
    return { key: name, value: Reflect.get(holder, name) as unknown };
  return { key: 'module.exports', value: exports };
}
