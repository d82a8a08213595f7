/** Values to put in the place of top-level exports; `module.exports` names the exports of a CommonJS module itself. */
export type Replacements = ReadonlyMap<string, unknown>;

/** How a module was loaded, and what of it cannot be replaced. */
export interface LoadedModule {
  readonly format: 'commonjs' | 'module';
  /** Absolute path of the file. */
  readonly file: string;
  /** Exports that the module assigns again later: an importer must keep seeing the original binding. */
  readonly reassigned: readonly string[];
}

/** A module that something wants to see when it loads. */
export interface ModuleTarget {
  /** Absolute paths the module can have (a declared `.js` may be a `.ts` under a loader). */
  readonly files: readonly string[];
  /** Bare specifiers under which ESM importers may ask for it. */
  readonly specifiers?: readonly string[];
  /** Ends of paths, with `/`: every installed copy of a package's main file, for example `undici/index.js`. */
  readonly fileEndings?: readonly string[];
  /** False when `Module.prototype.load` is certain to see it: then it costs no ESM hook. */
  readonly canBeEsm: boolean;
  /** Top-level exports that `onLoad` may replace. */
  readonly exportNames: readonly string[];
  /** Called once per instance, after the module has run and before its importers do. */
  readonly onLoad: (exports: unknown, module: LoadedModule) => Replacements | undefined;
}
