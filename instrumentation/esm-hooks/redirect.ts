import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { facadeSource, facadeUrl, hookedCommonJs, moduleShape } from './facade';

/** The declared modules, in a form that can be sent to the loader thread. */
export interface RedirectTable {
  /** Export names by absolute path, by bare specifier, and by end of the path with its slash. */
  readonly files: Readonly<Record<string, readonly string[]>>;
  readonly specifiers: Readonly<Record<string, readonly string[]>>;
  readonly fileEndings: Readonly<Record<string, readonly string[]>>;
}

export interface ResolveContext {
  readonly conditions?: readonly string[];
  readonly parentURL?: string | undefined;
  readonly importAttributes?: Readonly<Record<string, string>>;
}

export interface Resolved {
  url: string;
  format?: string | null | undefined;
}

export interface Loaded {
  format: string;
  source: string;
  shortCircuit: true;
}

/**
 * Sends importers of a declared module to a facade of it. The module itself keeps its address and its text: stack
 * traces, breakpoints, `import.meta.url` and `import.meta.main` are those of the program.
 */
export class Redirect {
  private readonly files: ReadonlyMap<string, readonly string[]>;
  private readonly specifiers: ReadonlyMap<string, readonly string[]>;
  private readonly endings: readonly (readonly [string, readonly string[]])[];
  private readonly facades = new Map<string, string | undefined>();

  constructor(table: RedirectTable) {
    this.files = new Map(Object.entries(table.files));
    this.specifiers = new Map(Object.entries(table.specifiers));
    this.endings = Object.entries(table.fileEndings);
  }

  /** The answer of a resolve hook, changed when it names a declared ES module. */
  resolved<R extends Resolved>(result: R, specifier: string, context: ResolveContext): R {
    // No parent: the program's entry, or a worker's. `require` is seen to by Module.prototype.load.
    if (context.parentURL === undefined || context.conditions?.includes('import') !== true) return result;
    if (result.format === 'commonjs' || result.format === 'commonjs-typescript' || !result.url.startsWith('file:'))
      return result;
    const names = this.namesOf(result.url, specifier);
    if (names === undefined || context.importAttributes?.['type'] !== undefined) return result;
    const facade = facadeUrl(result.url);
    if (context.parentURL === facade) return result;
    if (!this.facades.has(facade)) this.facades.set(facade, this.makeFacade(result.url, names, specifier));
    return this.facades.get(facade) === undefined ? result : { ...result, url: facade, format: 'module' };
  }

  /** The facade, when the address is that of one. */
  load(url: string): Loaded | undefined {
    const source = this.facades.get(url);
    return source === undefined ? undefined : { format: 'module', source, shortCircuit: true };
  }

  /**
   * CommonJS that Node strips of types itself, with a line appended: Node 22 loads it past `Module.prototype.load`
   * when ESM imports it or started the program. Other modules are returned as they are.
   */
  loaded<T>(result: T, url: string): T {
    const { format, source } = result as { format?: unknown; source?: unknown };
    if (format !== 'commonjs-typescript' || source === null || source === undefined || !url.startsWith('file:'))
      return result;
    if (this.namesOf(url, '') === undefined) return result;
    const text = typeof source === 'string' ? source : Buffer.from(source as Uint8Array).toString('utf8');
    return { ...result, source: hookedCommonJs(text, url) };
  }

  private makeFacade(url: string, names: readonly string[], specifier: string): string | undefined {
    const shape = moduleShape(readFileSync(filePath(url), 'utf8'), names);
    if (shape === undefined) return undefined;
    return facadeSource(url, shape, this.specifiers.has(specifier) ? specifier : undefined);
  }

  private namesOf(url: string, specifier: string): readonly string[] | undefined {
    const bySpecifier = this.specifiers.get(specifier);
    const byFile = this.files.get(filePath(url));
    const byEnding = this.endings.filter(([ending]) => url.endsWith(ending)).flatMap(([, names]) => names);
    if (bySpecifier === undefined && byFile === undefined && byEnding.length === 0) return undefined;
    return [...new Set([...(bySpecifier ?? []), ...(byFile ?? []), ...byEnding])];
  }
}

function filePath(url: string): string {
  return fileURLToPath(withoutQuery(url));
}

export function withoutQuery(url: string): string {
  return url.replace(/[?#].*$/s, '');
}
