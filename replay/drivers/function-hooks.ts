import type { Config } from '../../instrumentation/config';
import type { Diagnostics } from '../../instrumentation/diagnostics';
import { UNDICI_FILE, undiciCopies, wrapDeclared } from '../../instrumentation/install-hooks';
import { installModuleHooks } from '../../instrumentation/module-hooks';
import type { DeclaredStatus } from '../../instrumentation/tools/config-declared';
import { runtimeOfRealm } from '../../instrumentation/runtime';
import { ownLoader } from './function-declared';

interface Hooks {
  /** Taps a copy of undici that loads now; set while a function is replayed. */
  tap: ((exports: unknown) => void) | undefined;
  /** What became of the declared modules; nothing where somebody else wraps them. */
  declaredStatus(): readonly DeclaredStatus[];
}

const KEY = Symbol.for('reenact.function-hooks.1');

/**
 * Lets replays see modules as they load. Installed once and kept: a module stays loaded beyond the replay that loaded
 * it, and its wrapped functions belong to the next one too. Without a replay they only call what they wrap.
 */
export function functionHooks(config: Config, diagnostics: Diagnostics): Hooks {
  const holder = globalThis as { [KEY]?: Hooks };
  const known = holder[KEY];
  if (known !== undefined) return known;
  const wraps = !ownLoader() && runtimeOfRealm() === undefined;
  const declared = wraps ? wrapDeclared(config) : undefined;
  const hooks: Hooks = { tap: undefined, declaredStatus: () => declared?.declaredStatus() ?? [] };
  Object.defineProperty(holder, KEY, { value: hooks });
  if (ownLoader()) return hooks;
  const undici = undiciCopies((exports) => hooks.tap?.(exports));
  // Under the preload declared functions are wrapped already.
  installModuleHooks([...(declared?.targets ?? []), undici], {
    onError: (place, error) => diagnostics.failed(place, error),
  });
  return hooks;
}

/** The copies of undici that have loaded before. */
export function loadedUndici(): unknown[] {
  return Object.values(require.cache).flatMap((module) =>
    module?.filename.replaceAll('\\', '/').endsWith(UNDICI_FILE) === true ? [module.exports as unknown] : [],
  );
}
