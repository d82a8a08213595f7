import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where a declared module can be found. */
export interface DeclaredPlaces {
  readonly files: readonly string[];
  readonly specifiers: readonly string[];
  /** False when `Module.prototype.load` is certain to see it. */
  readonly canBeEsm: boolean;
}

/** Sources that a program names by the extension of their output. */
const SOURCES: Readonly<Record<string, readonly string[]>> = {
  '.js': ['.ts', '.tsx', '.jsx'],
  '.jsx': ['.tsx'],
  '.mjs': ['.mts'],
  '.cjs': ['.cts'],
};
const EXTENSIONS = ['.ts', '.tsx', '.mts', '.cts', '.js', '.mjs', '.cjs', '.jsx'];

/** Resolves the module name of a declaration from the folder of the configuration file, as a program there would. */
export function resolveDeclared(module: string, configDir: string): DeclaredPlaces {
  if (!/^(\.{1,2}([\\/]|$)|file:)/.test(module) && !isAbsolute(module)) return resolvePackage(module, configDir);
  const path = module.startsWith('file:') ? fileURLToPath(module) : resolve(configDir, module);
  const files = candidates(path).filter(isFile);
  return { files: withRealPaths(files), specifiers: [], canBeEsm: files.some(fileCanBeEsm) };
}

function candidates(path: string): string[] {
  const extension = extname(path);
  const stem = path.slice(0, path.length - extension.length);
  return [
    path,
    ...(SOURCES[extension] ?? []).map((other) => stem + other),
    ...EXTENSIONS.map((other) => path + other),
    ...EXTENSIONS.map((other) => join(path, `index${other}`)),
  ];
}

function resolvePackage(specifier: string, configDir: string): DeclaredPlaces {
  const require = createRequire(join(configDir, 'reenact.config.json'));
  let file: string | undefined;
  try {
    file = require.resolve(specifier);
  } catch {
    // Not installed, or for `import` only: the ESM hook still knows it by its specifier.
  }
  if (file !== undefined && !isAbsolute(file)) return { files: [], specifiers: [], canBeEsm: false };
  const installed = file !== undefined || isInstalled(specifier, require.resolve.paths(specifier) ?? []);
  return {
    files: file === undefined ? [] : withRealPaths([file]),
    specifiers: installed ? [specifier] : [],
    canBeEsm: installed && (file === undefined || fileCanBeEsm(file) || hasImportEntry(file)),
  };
}

function isInstalled(specifier: string, folders: readonly string[]): boolean {
  const name = specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
  return specifier.startsWith('#') || folders.some((folder) => existsSync(join(folder, name)));
}

/** A package with separate entries for `import` and `require`. */
function hasImportEntry(file: string): boolean {
  const manifest = nearestManifest(file);
  return (
    manifest !== undefined && /"(import|module|module-sync|node)"\s*:/.test(JSON.stringify(manifest['exports'] ?? null))
  );
}

/**
 * False only when Node would load the file as CommonJS whatever it holds, or it holds no ESM syntax. CommonJS that Node
 * strips of types itself counts as ESM: Node 22 loads it past `Module.prototype.load` below an entry that ESM loaded.
 */
function fileCanBeEsm(file: string): boolean {
  const extension = extname(file);
  if (/^\.c?ts$/.test(extension) && Boolean((process.features as { typescript?: unknown }).typescript)) return true;
  if (extension === '.mjs' || extension === '.mts') return true;
  if (extension === '.cjs' || extension === '.cts') return false;
  const type = nearestManifest(file)?.['type'];
  if (type === 'module') return true;
  // Coarse on purpose: a word in a comment costs a hook, a missed module costs its recording.
  return type !== 'commonjs' && /^\s*(?:import|export)\b|[;}]\s*(?:import|export)\b/m.test(readFileSync(file, 'utf8'));
}

function nearestManifest(file: string): Record<string, unknown> | undefined {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const path = join(folder, 'package.json');
    if (isFile(path)) {
      try {
        return JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
      } catch {
        // Node reports a broken manifest itself when it loads the module.
        return undefined;
      }
    }
    if (folder === dirname(folder) || folder.endsWith('node_modules')) return undefined;
  }
}

function isFile(path: string): boolean {
  return existsSync(path) && statSync(path).isFile();
}

function withRealPaths(files: readonly string[]): string[] {
  return [...new Set(files.flatMap((file) => [file, realpathSync(file)]))];
}
