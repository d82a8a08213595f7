import type { Config } from './config';
import type { Diagnostics } from './diagnostics';
import { installModuleHooks } from './module-hooks';
import type { ModuleTarget } from './module-target';
import { activeRuntime } from './runtime';
import type { Runtime } from './runtime';
import { tapUndiciModule } from './taps/undici';
import { declaredModules } from './tools/config-declared';
import type { DeclaredModules } from './tools/config-declared';
import { functionKind, wrapFunction } from './tools/wrap-function';

/** Wraps what the configuration declares, and taps copies of undici that the program brings, as they load. */
export function installHooks(config: Config, runtime: Runtime, diagnostics: Diagnostics): DeclaredModules {
  const onError = (place: string, error: unknown): void => diagnostics.failed(place, error);
  const declared = wrapDeclared(config);
  const undici = undiciCopies((exports) => void tapUndiciModule(exports, runtime.recorder, onError));
  installModuleHooks([...declared.targets, undici], { onError });
  return declared;
}

/** Declared functions ask for the runtime at each call: the replay of a function puts another in place for a while. */
export function wrapDeclared(config: Config): DeclaredModules {
  return declaredModules(config, (spec, fn) =>
    functionKind(fn) === 'class'
      ? fn
      : wrapFunction(spec, fn, ({ fn: target, thisArg, args }) => {
          const runtime = activeRuntime();
          if (runtime === undefined) return Reflect.apply(target, thisArg, args) as unknown;
          return runtime.call(spec, target, { thisArg, args });
        }),
  );
}

export const UNDICI_FILE = '/node_modules/undici/index.js';

/** The main file of every installed undici: each copy has dispatchers of its own. */
export function undiciCopies(tap: (exports: unknown) => void): ModuleTarget {
  return {
    files: [],
    fileEndings: [UNDICI_FILE],
    canBeEsm: false,
    exportNames: [],
    onLoad: (exports) => {
      tap(exports);
      return undefined;
    },
  };
}
