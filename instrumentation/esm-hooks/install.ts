import { existsSync } from 'node:fs';
import * as Module from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { pathEnding } from './path-ending';
import type { LoadedModule, ModuleTarget } from '../module-target';
import { FACADE_KEY } from './facade';
import type { FacadeHost, FacadeModule } from './facade';
import { Redirect, withoutQuery } from './redirect';
import type { RedirectTable, ResolveContext, Resolved } from './redirect';

interface SyncHooks {
  resolve(s: string, context: ResolveContext, next: (s: string, context: ResolveContext) => Resolved): Resolved;
  load(url: string, context: unknown, next: (url: string, context: unknown) => unknown): unknown;
}

interface HookingModule {
  registerHooks?(hooks: SyncHooks): { deregister(): void };
  register(specifier: string, options: { data: unknown }): void;
}

/** Beside this file, or below the preload when both are bundled into one. */
function loaderThreadFile(): string {
  const beside = join(__dirname, 'loader-thread.js');
  return existsSync(beside) ? beside : join(__dirname, 'esm-hooks', 'loader-thread.js');
}

/** What the hooks need of the installation they serve. */
export interface EsmHost {
  readonly active: boolean;
  readonly esmTargets: readonly ModuleTarget[];
  guard<T>(fn: () => T): T | undefined;
  targetsOf(filename: string, specifier?: string): readonly ModuleTarget[];
  collect(targets: readonly ModuleTarget[], exports: unknown, module: LoadedModule): Map<string, unknown>;
  replacedExports(exports: unknown, file: string): unknown;
}

/**
 * Hooks ES modules in this thread where the Node can (`registerHooks`, from 22.15), on the loader thread elsewhere.
 * A worker registers for itself: what the main thread registered does not reach it (seen on 20.20).
 */
export function installEsmHooks(hooks: EsmHost): () => void {
  const endHost = installHost(hooks);
  const table = tableOf(hooks.esmTargets);
  const { registerHooks, register } = Module as unknown as HookingModule;
  if (registerHooks === undefined) {
    register(pathToFileURL(loaderThreadFile()).href, { data: table });
    return endHost;
  }
  const redirect = new Redirect(table);
  const handle = registerHooks({
    resolve: (specifier, context, next) => {
      const result = next(specifier, context);
      return hooks.guard(() => redirect.resolved(result, specifier, context)) ?? result;
    },
    load: (url, context, next) => {
      const facade = redirect.load(url);
      if (facade !== undefined) return facade;
      const result = next(url, context);
      return hooks.guard(() => redirect.loaded(result, url)) ?? result;
    },
  });
  return () => {
    handle.deregister();
    endHost();
  };
}

function installHost(hooks: EsmHost): () => void {
  const key = Symbol.for(FACADE_KEY);
  const host = globalThis as { [key]?: FacadeHost };
  const earlier = host[key];
  const own: FacadeHost = {
    loaded: (module, exports) => {
      const other = earlier?.loaded(module, exports) ?? {};
      return hooks.active ? { ...Object.fromEntries(replace(hooks, exports, module)), ...other } : other;
    },
    early: (module, name, value) => {
      if (!hooks.active || typeof value !== 'function') return value;
      return replace(hooks, { [name]: value }, module).get(name) ?? value;
    },
    commonJs: (url, exports) => {
      const inner = earlier?.commonJs(url, exports) ?? exports;
      return hooks.active ? hooks.guard(() => hooks.replacedExports(inner, fileURLToPath(withoutQuery(url)))) : inner;
    },
  };
  Object.defineProperty(globalThis, key, { value: own, configurable: true, enumerable: false });
  return () => void Object.defineProperty(globalThis, key, { value: earlier, configurable: true, enumerable: false });
}

function replace(hooks: EsmHost, exports: unknown, facade: FacadeModule): Map<string, unknown> {
  const file = fileURLToPath(withoutQuery(facade.url));
  const module: LoadedModule = { format: 'module', file, reassigned: facade.reassigned };
  return hooks.collect(hooks.targetsOf(file, facade.specifier), exports, module);
}

function tableOf(targets: readonly ModuleTarget[]): RedirectTable {
  const names = (of: (target: ModuleTarget) => readonly string[]): Record<string, readonly string[]> => {
    const table = new Map<string, string[]>();
    for (const target of targets)
      for (const key of of(target)) table.set(key, [...(table.get(key) ?? []), ...target.exportNames]);
    return Object.fromEntries(table);
  };
  return {
    files: names((target) => target.files),
    specifiers: names((target) => target.specifiers ?? []),
    fileEndings: names((target) => (target.fileEndings ?? []).map(pathEnding)),
  };
}
