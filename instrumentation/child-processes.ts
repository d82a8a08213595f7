import childProcess from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import { withPreload } from './node-options';
import { patch } from './patches';
import { installWorkerInheritance } from './worker-threads';

export interface ChildInheritanceOptions {
  /** Absolute path of the file that children load first. */
  readonly preloadPath: string;
  /** `REENACT_*` variables that every child gets; paths in them absolute, since a child may run in another folder. */
  readonly variables: Readonly<Record<string, string>>;
  /** Process path of this process; children are `<path>.<n>`, workers `<path>.w<n>`. */
  readonly processPath: string;
  /** 1 for the first child or worker, and so on. */
  readonly nextOrdinal: (kind: 'child' | 'worker') => number;
  /** Told of a failure of our own; the child then starts as the program asked. */
  readonly onError: (place: string, error: unknown) => void;
}

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Makes Node children and workers load the preload too, whatever environment the program gives them. Only what is
 * handed to the child changes, never `process.env` of this process or an object of the program.
 */
export function installChildInheritance(options: ChildInheritanceOptions): () => void {
  const state = { active: true };
  const inherit = (env: Env): Record<string, string> => {
    const own = { ...options.variables, REENACT_PROCESS: `${options.processPath}.${options.nextOrdinal('child')}` };
    return childEnv(env, own, options.preloadPath);
  };
  const guarded = <T>(place: string, unchanged: T, change: () => T): T => {
    if (!state.active) return unchanged;
    try {
      return change();
    } catch (error) {
      options.onError(place, error);
      return unchanged;
    }
  };
  patchSpawn((spawn) => guarded('child process', spawn, () => withPairs(spawn, inherit)));
  patchSync((args, optionsAt) => guarded('child process', args, () => withEnv(args, optionsAt(args), inherit)));
  const endWorkers = installWorkerInheritance(options, guarded);
  syncBuiltinESMExports();
  return () => {
    state.active = false;
    endWorkers();
  };
}

/** What Node hands to `ChildProcess.prototype.spawn`; `envPairs` are `NAME=value`. */
interface SpawnOptions {
  readonly envPairs?: readonly string[];
}

/**
 * Replaced: `ChildProcess.prototype.spawn`. Why here: spawn, exec, execFile and fork all end in it, with the environment
 * already made. What breaks: nothing visible but the variables in the child's environment.
 */
function patchSpawn(change: (options: SpawnOptions) => SpawnOptions): void {
  const prototype = childProcess.ChildProcess.prototype as unknown as { spawn(options: SpawnOptions): unknown };
  patch(
    prototype,
    'spawn',
    (original) =>
      function spawn(this: unknown, options: SpawnOptions) {
        return original.call(this as never, change(options));
      },
  );
}

/**
 * Replaced: spawnSync, execFileSync, execSync. Why here: below them is only an internal binding, and they call each
 * other without going through the exports. What breaks: nothing visible but the variables in the child's environment.
 */
function patchSync(change: (args: unknown[], optionsAt: (args: unknown[]) => number) => unknown[]): void {
  const withArguments = (args: unknown[]): number =>
    args[1] === undefined || args[1] === null || Array.isArray(args[1]) ? 2 : 1;
  const places = [
    ['spawnSync', withArguments],
    ['execFileSync', withArguments],
    ['execSync', () => 1],
  ] as const;
  const target = childProcess as unknown as Record<string, (...args: unknown[]) => unknown>;
  for (const [name, optionsAt] of places)
    patch(
      target,
      name,
      (original) =>
        function (this: unknown, ...args: unknown[]) {
          return original?.apply(this, change(args, optionsAt));
        },
    );
}

function withPairs(options: SpawnOptions, inherit: (env: Env) => Record<string, string>): SpawnOptions {
  if (typeof options !== 'object' || options === null) return options;
  const pairs = options.envPairs;
  if (pairs !== undefined && !Array.isArray(pairs)) return options;
  // Split at the first `=` after the first character: Windows has names such as `=C:`.
  const env =
    pairs === undefined
      ? process.env
      : Object.fromEntries(
          (pairs as string[]).map((pair) => {
            const at = pair.indexOf('=', 1);
            return at === -1 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)];
          }),
        );
  return { ...options, envPairs: Object.entries(inherit(env)).map(([name, value]) => `${name}=${value}`) };
}

function withEnv(args: unknown[], at: number, inherit: (env: Env) => Record<string, string>): unknown[] {
  const given = args[at];
  // Anything else is an error that Node reports.
  if (given !== undefined && given !== null && typeof given !== 'object') return args;
  const env = (given as { env?: unknown } | null | undefined)?.env ?? process.env;
  if (typeof env !== 'object') return args;
  const changed = [...args];
  while (changed.length < at) changed.push(undefined);
  changed[at] = { ...given, env: inherit(env as Env) };
  return changed;
}

/**
 * The environment of a child: that which the program gave, with the preload added to `NODE_OPTIONS`. A variable that
 * the program set for the child alone stays as it is, so that it can switch recording off for one child.
 */
export function childEnv(
  given: Env,
  own: Readonly<Record<string, string>>,
  preloadPath: string,
): Record<string, string> {
  const env = Object.create(null) as Record<string, string>;
  // As Node does it: inherited properties count, `undefined` does not.
  for (const name in given) if (given[name] !== undefined) env[name] = String(given[name]);
  for (const [name, value] of Object.entries(own)) {
    const key = keyOf(env, name);
    if (env[key] === undefined || env[key] === process.env[name]) env[key] = value;
  }
  const key = keyOf(env, 'NODE_OPTIONS');
  env[key] = withPreload(env[key] ?? '', preloadPath);
  return env;
}

/** Windows does not tell upper from lower case in names. */
function keyOf(env: Env, name: string): string {
  if (process.platform !== 'win32') return name;
  return Object.keys(env).find((key) => key.toUpperCase() === name) ?? name;
}
