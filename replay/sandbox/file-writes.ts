import fs from 'node:fs';
import { realpathSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { patch } from '../../instrumentation/patches';
import { refusal } from './refusal';
import type { SandboxReport } from './refusal';

/** Functions that change what a path names; all take the path first, `rename`, `link` and copies a second one. */
const WRITING = [
  'writeFile', 'appendFile', 'mkdir', 'mkdtemp', 'rmdir', 'rm', 'unlink', 'truncate', 'chmod', 'chown', 'lchown',
  'utimes', 'lutimes', 'rename', 'copyFile', 'cp', 'link', 'symlink',
]; // prettier-ignore
/** Of these the second path is the one that is written, the first only for `rename`. */
const SECOND = new Set(['copyFile', 'cp', 'link', 'symlink']);

type AnyFunction = (this: unknown, ...args: unknown[]) => unknown;

export interface WritePolicy extends SandboxReport {
  /** Folders and files that may be written. */
  readonly allowed: readonly string[];
}

/** Programs that start the recorded one (`npm start`, `npx tsx agent.ts`): their logs and caches are not its doing. */
const PACKAGE_RUNNER = /(^|[\\/])(npm|npx|pnpm|pnpx|yarn|yarnpkg|corepack)(-cli)?(\.[cm]?js)?$/;

/**
 * Folders that a replay may always write to: the store, the system's temporary folder and devices; for npm and its like
 * also where they keep their own files.
 */
export function alwaysWritable(store: string, script: string | undefined = process.argv[1]): string[] {
  const folders = [store, tmpdir(), '/dev'];
  if (script === undefined || !PACKAGE_RUNNER.test(script)) return folders;
  const cache = process.env['npm_config_cache'];
  return [...folders, homedir(), ...(cache === undefined ? [] : [cache])];
}

/**
 * Refuses writes outside the allowed folders.
 *
 * What: the writing functions of node:fs in their three forms, and `open` with flags that write. Why here: everything
 * above (streams, promises) ends in them. What breaks when it goes wrong: a replayed tool changes files. It stops
 * accidents, not hostile code.
 */
export function installWriteSandbox(policy: WritePolicy): void {
  const roots = policy.allowed.map(real);
  const check = (name: string, paths: unknown[]): NodeJS.ErrnoException | undefined => {
    if (policy.applies?.() === false) return undefined;
    for (const path of paths) {
      const text = pathText(path);
      if (text === undefined || isInside(real(text), roots)) continue;
      policy.blocked(`file ${name} ${text}`, 'Allow it with --allow-write PATH.');
      return refusal(name, `${name} '${text}'`, text);
    }
    return undefined;
  };
  const verdicts: [string, (args: unknown[]) => NodeJS.ErrnoException | undefined][] = WRITING.map((name) => [
    name,
    (args) => check(name, name === 'rename' ? [args[0], args[1]] : [SECOND.has(name) ? args[1] : args[0]]),
  ]);
  verdicts.push(['open', (args) => (opensForWriting(args[1]) ? check('open', [args[0]]) : undefined)]);
  for (const [name, verdict] of verdicts) {
    replace([fs, name], verdict, 'callback');
    replace([fs, `${name}Sync`], verdict, 'throw');
    replace([fs.promises, name], verdict, 'reject');
  }
}

function replace(
  [target, name]: readonly [object, string],
  verdict: (args: unknown[]) => Error | undefined,
  how: 'callback' | 'throw' | 'reject',
): void {
  const functions = target as Record<string, AnyFunction>;
  if (typeof functions[name] !== 'function') return;
  patch(
    functions,
    name,
    (original) =>
      function (this: unknown, ...args: unknown[]) {
        const error = verdict(args);
        if (error === undefined) return original?.apply(this, args);
        if (how === 'reject') return Promise.reject(error);
        const callback = args.at(-1);
        if (how === 'throw' || typeof callback !== 'function') throw error;
        process.nextTick(callback as (error: Error) => void, error);
      },
  );
}

function opensForWriting(flags: unknown): boolean {
  if (typeof flags === 'number')
    return (flags & (fs.constants.O_WRONLY | fs.constants.O_RDWR | fs.constants.O_CREAT)) !== 0;
  return typeof flags === 'string' && /[wa+]/.test(flags);
}

/** A path as text; `undefined` for descriptors, which were opened before. */
function pathText(path: unknown): string | undefined {
  if (typeof path === 'string') return path;
  if (path instanceof URL) return path.protocol === 'file:' ? fileURLToPath(path) : undefined;
  return Buffer.isBuffer(path) ? path.toString() : undefined;
}

/** The path with its links resolved, as far as it exists. */
function real(path: string): string {
  const absolute = resolve(path);
  try {
    return realpathSync(absolute);
  } catch {
    // It does not exist yet: its folder decides.
    const parent = dirname(absolute);
    return parent === absolute ? absolute : join(real(parent), basename(absolute));
  }
}

function isInside(path: string, roots: readonly string[]): boolean {
  return roots.some((root) => path === root || path.startsWith(root.endsWith(sep) ? root : root + sep));
}
