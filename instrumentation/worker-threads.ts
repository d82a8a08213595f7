import workerThreads from 'node:worker_threads';
import { withPreload } from './node-options';
import { patch } from './patches';
export interface WorkerInheritanceOptions {
  readonly preloadPath: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly processPath: string;
  readonly nextOrdinal: (kind: 'worker') => number;
}

/** What a worker is told by the thread that started it. */
interface Inherited {
  readonly variables: Readonly<Record<string, string>>;
  /** `execArgv` or `NODE_OPTIONS` as the program gave them, where the preload was added. */
  readonly execArgv?: readonly string[];
  readonly nodeOptions?: string | null;
}

const DATA_KEY = 'reenact.inherited.1';

type Guarded = <T>(place: string, unchanged: T, change: () => T) => T;
type WorkerArguments = [file: string | URL, options?: workerThreads.WorkerOptions | undefined, ...rest: unknown[]];

/**
 * Replaced: the class `Worker`, by a proxy that only looks at `new`. Why here: what a worker inherits is fixed by its
 * constructor, below which is only an internal binding. What breaks: nothing; subclasses and `instanceof` see the class.
 * Variables travel as environment data, not in `env`: with `SHARE_ENV` the worker has none of its own.
 */
export function installWorkerInheritance(options: WorkerInheritanceOptions, guarded: Guarded): () => void {
  const { Worker: original } = workerThreads;
  const proxy = new Proxy(original, {
    construct: (target, args: unknown[], newTarget) => {
      const inherited = guarded('worker', undefined, () => inheritance(args as WorkerArguments, options));
      if (inherited === undefined) return Reflect.construct(target, args, newTarget as typeof target) as object;
      const before = workerThreads.getEnvironmentData(DATA_KEY);
      workerThreads.setEnvironmentData(DATA_KEY, inherited.data as unknown as workerThreads.Serializable);
      try {
        return Reflect.construct(target, inherited.args, newTarget as typeof target) as object;
      } finally {
        workerThreads.setEnvironmentData(DATA_KEY, before);
      }
    },
  });
  patch(workerThreads as { Worker: typeof original }, 'Worker', () => proxy);
  return () => undefined;
}

function inheritance(
  args: WorkerArguments,
  { preloadPath, variables, processPath, nextOrdinal }: WorkerInheritanceOptions,
): { args: WorkerArguments; data: Inherited } {
  const own = { ...variables, REENACT_PROCESS: `${processPath}.w${nextOrdinal('worker')}` };
  const [file, given, ...rest] = args;
  const execArgv: unknown = given?.execArgv;
  const env: unknown = given?.env;
  if (Array.isArray(execArgv)) {
    const data = { variables: own, execArgv: [...(execArgv as string[])] };
    const changed = { ...given, execArgv: ['--require', preloadPath, ...(execArgv as string[])] };
    return { args: [file, changed, ...rest], data };
  }
  if (typeof env === 'object' && env !== null && env !== process.env) {
    // An `env` of its own makes Node drop a preload that came by NODE_OPTIONS.
    const nodeOptions = (env as NodeJS.ProcessEnv)['NODE_OPTIONS'];
    const changed = { ...given, env: { ...env, NODE_OPTIONS: withPreload(nodeOptions ?? '', preloadPath) } };
    return {
      args: [file, changed, ...rest],
      data: { variables: own, nodeOptions: nodeOptions ?? null },
    };
  }
  return { args, data: { variables: own } };
}

/**
 * In a worker: the variables its parent gave it, to be read like those of `process.env`. Also takes the preload out of
 * `process.execArgv` and `process.env` where only we had put it, so that the program sees what it asked for.
 */
export function inheritedVariables(): Readonly<Record<string, string>> {
  if (workerThreads.isMainThread) return {};
  const data = workerThreads.getEnvironmentData(DATA_KEY) as unknown as Inherited | undefined;
  if (data === undefined) return {};
  if (data.execArgv !== undefined) process.execArgv = [...data.execArgv];
  if (data.nodeOptions === null) delete process.env['NODE_OPTIONS'];
  else if (data.nodeOptions !== undefined) process.env['NODE_OPTIONS'] = data.nodeOptions;
  return data.variables;
}
