import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';

const ROOT = resolve(__dirname, '../..');

/** Node programs to run the matrix on: this one, and those of REENACT_TEST_NODES (paths separated by the path delimiter). */
export const NODES: readonly string[] = [
  process.execPath,
  ...(process.env['REENACT_TEST_NODES'] ?? '').split(process.platform === 'win32' ? ';' : ':').filter(existsSync),
];

/** Sources of a preload that writes each call of a wrapped function to the file in HOOK_LOG, one JSON line each. */
const MODULES_PRELOAD = `
import { appendFileSync, writeFileSync } from 'node:fs';
import { readConfig } from '${ROOT}/instrumentation/config';
import { declaredModules } from '${ROOT}/instrumentation/tools/config-declared';
import { wrapFunction } from '${ROOT}/instrumentation/tools/wrap-function';
import { installModuleHooks } from '${ROOT}/instrumentation/module-hooks';
import { whereAmI } from '${ROOT}/instrumentation/threads';

const log = process.env.HOOK_LOG as string;
const write = (line: unknown): void => appendFileSync(log, JSON.stringify(line) + '\\n');
const errors: string[] = [];
const declared = declaredModules(readConfig(), (spec, fn) =>
  wrapFunction(spec, fn, ({ fn, thisArg, args }) => {
    write({ call: spec.name, kind: spec.kind, args: args.length });
    return Reflect.apply(fn, thisArg, args);
  }),
);
installModuleHooks(declared.targets, { onError: (place, error) => write({ error: place + ': ' + String(error) }) });
if (whereAmI() === 'main') process.on('exit', () => write({ status: declared.declaredStatus() }));
`;

/** A preload that writes where it runs and which variables it inherited, and passes itself on. */
const CHILDREN_PRELOAD = `
import { appendFileSync } from 'node:fs';
import { threadId } from 'node:worker_threads';
import { installChildInheritance } from '${ROOT}/instrumentation/child-processes';
import { inheritedVariables } from '${ROOT}/instrumentation/worker-threads';
import { whereAmI } from '${ROOT}/instrumentation/threads';

const env = { ...process.env, ...inheritedVariables() };
const log = '__LOG__';
const where = whereAmI();
const write = (line: unknown): void => appendFileSync(log, JSON.stringify(line) + '\\n');
if (where !== 'loader') {
  write({ process: env.REENACT_PROCESS ?? '0', run: env.REENACT_RUN_ID, record: env.REENACT_RECORD, where, execArgv: process.execArgv });
  const counts = { child: 0, worker: 0 };
  installChildInheritance({
    preloadPath: __filename,
    variables: { REENACT_RUN_ID: 'run-1', REENACT_RECORD: 'on' },
    processPath: env.REENACT_PROCESS ?? '0',
    nextOrdinal: (kind) => ++counts[kind],
    onError: (place, error) => write({ error: place + ': ' + String(error) }),
  });
}
`;

/** A preload that counts how often the main file of a package is shown to it. */
const UNDICI_PRELOAD = `
import { installModuleHooks, packageFile } from '${ROOT}/instrumentation/module-hooks';

const seen = packageFile('undici/index.js', (exports) => Object.assign(exports as object, { seen: ((exports as { seen?: number }).seen ?? 0) + 1 }));
installModuleHooks([seen], { onError: (place, error) => console.error(place, error) });
`;

/** A preload that writes on which thread it runs. */
const THREADS_PRELOAD = `
import { appendFileSync } from 'node:fs';
import { whereAmI } from '${ROOT}/instrumentation/threads';

appendFileSync('__LOG__', JSON.stringify({ process: '', where: whereAmI() }) + '\\n');
`;

const PRELOADS = {
  threads: THREADS_PRELOAD,
  modules: MODULES_PRELOAD,
  children: CHILDREN_PRELOAD,
  undici: UNDICI_PRELOAD,
};

export interface HookedRun {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
  /** Names of the wrapped calls, in order. */
  readonly calls: readonly string[];
  readonly status: readonly {
    module: string;
    loaded: boolean;
    exports: { path: string; state: string; kind?: string }[];
  }[];
  readonly errors: readonly string[];
  /** Processes and workers that loaded the preload, in order. */
  readonly processes: readonly { process: string; run?: string; record?: string; where: string; execArgv: string[] }[];
}

export interface RunOptions {
  readonly files: Readonly<Record<string, string>>;
  /** Arguments of Node, the program last. */
  readonly argv: readonly string[];
  readonly config?: unknown;
  readonly node?: string;
  readonly preload?: 'require' | 'import';
  /** Preloads an empty file in the same way, for comparison: `--import` alone changes how Node starts a program. */
  readonly unhooked?: boolean;
  /** Arguments of Node before the preload. */
  readonly before?: readonly string[];
  /** Run before the program, in its folder. */
  readonly prepare?: (folder: string) => void;
}

/** A folder with the compiled preload, in which programs are written and run. */
export class HookPrograms {
  private readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'reenact hooks ')));
  private count = 0;

  constructor(preload: keyof typeof PRELOADS = 'modules') {
    symlinkSync(join(ROOT, 'node_modules'), join(this.folder, 'node_modules'));
    writeFileSync(
      join(this.folder, 'preload.ts'),
      PRELOADS[preload].replace('__LOG__', join(this.folder, 'children.log')),
    );
    const hooks = 'instrumentation/esm-hooks';
    buildSync({
      entryPoints: { preload: join(this.folder, 'preload.ts'), 'loader-thread': join(ROOT, hooks, 'loader-thread.ts') },
      bundle: true,
      external: ['es-module-lexer'],
      platform: 'node',
      format: 'cjs',
      outdir: join(this.folder, 'compiled'),
      logLevel: 'silent',
    });
    writeFileSync(this.emptyPreload, '');
  }

  private get emptyPreload(): string {
    return join(this.folder, 'compiled/empty.cjs');
  }

  get preload(): string {
    return join(this.folder, 'compiled/preload.js');
  }

  async run(options: RunOptions): Promise<HookedRun> {
    const folder = join(this.folder, `program ${this.count++}`);
    for (const [name, text] of Object.entries(options.files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    if (options.config !== undefined)
      writeFileSync(join(folder, 'reenact.config.json'), JSON.stringify(options.config));
    options.prepare?.(folder);
    const log = join(this.folder, 'children.log');
    rmSync(log, { force: true });
    const file = options.unhooked === true ? this.emptyPreload : this.preload;
    const preload = options.preload === 'import' ? ['--import', pathToFileURL(file).href] : ['--require', file];
    const result = await execute(
      options.node ?? process.execPath,
      [...(options.before ?? []), ...preload, ...options.argv],
      {
        cwd: folder,
        env: { ...process.env, NODE_OPTIONS: '', HOOK_LOG: log },
      },
    );
    const lines = existsSync(log)
      ? readFileSync(log, 'utf8')
          .split('\n')
          .filter(Boolean)
          .map((line) => JSON.parse(line) as Record<string, unknown>)
      : [];
    return {
      ...result,
      calls: lines.flatMap(({ call }) => (typeof call === 'string' ? [call] : [])),
      status: (lines.find(({ status }) => status !== undefined)?.['status'] ?? []) as HookedRun['status'],
      processes: lines.filter((line) => 'process' in line) as unknown as HookedRun['processes'],
      errors: lines.flatMap(({ error }) => (typeof error === 'string' ? [error] : [])),
    };
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function execute(
  file: string,
  args: readonly string[],
  options: { cwd: string; env: NodeJS.ProcessEnv },
): Promise<{ stdout: string; stderr: string; code: number }> {
  return new Promise((done) => {
    execFile(file, args, { ...options, encoding: 'utf8', timeout: 20_000 }, (error, stdout, stderr) => {
      done({ stdout, stderr, code: error === null ? 0 : typeof error.code === 'number' ? error.code : -1 });
    });
  });
}
