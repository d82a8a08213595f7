import type { Config } from './config';
import type { Diagnostics } from './diagnostics';
import { installModuleHooks } from './module-hooks';
import type { ModuleTarget } from './module-target';
import type { Recorder } from './recorder';
import type { Runtime } from './runtime';
import { tapUndiciModule } from './taps/undici';
import { declaredModules } from './tools/config-declared';
import type { DeclaredModules } from './tools/config-declared';
import { functionKind, wrapFunction } from './tools/wrap-function';

/** Wraps what the configuration declares, and taps copies of undici that the program brings, as they load. */
export function installHooks(config: Config, runtime: Runtime, diagnostics: Diagnostics): DeclaredModules {
  const onError = (place: string, error: unknown): void => diagnostics.failed(place, error);
  const declared = declaredModules(config, (spec, fn) =>
    functionKind(fn) === 'class'
      ? fn
      : wrapFunction(spec, fn, ({ fn: target, thisArg, args }) => runtime.call(spec, target, { thisArg, args })),
  );
  installModuleHooks([...declared.targets, undiciCopies(runtime.recorder, onError)], { onError });
  return declared;
}

/** The main file of every installed undici: each copy has dispatchers of its own. */
function undiciCopies(recorder: Recorder, onError: (place: string, error: unknown) => void): ModuleTarget {
  return {
    files: [],
    fileEndings: ['/node_modules/undici/index.js'],
    canBeEsm: false,
    exportNames: [],
    onLoad: (exports) => {
      tapUndiciModule(exports, recorder, onError);
      return undefined;
    },
  };
}
