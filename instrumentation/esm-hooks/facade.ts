import { createRequire } from 'node:module';

/** What is used of es-module-lexer, whose types are for ESM importers only. */
interface Lexer {
  initSync(): void;
  parse(
    source: string,
  ): readonly [
    imports: readonly { readonly ss: number; readonly se: number }[],
    exports: readonly { readonly n: string; readonly ln: string | undefined }[],
    isFacade: boolean,
    hasModuleSyntax: boolean,
  ];
}

/** What a facade needs to know of the module behind it. */
export interface ModuleShape {
  readonly hasDefault: boolean;
  /** Declared exports that the facade takes over. */
  readonly names: readonly string[];
  /** Declared exports that the module assigns again, which must stay bindings of the original. */
  readonly reassigned: readonly string[];
}

/** Which module a facade speaks of. */
export interface FacadeModule {
  readonly url: string;
  /** The bare specifier it was declared and asked for by, if any. */
  readonly specifier?: string;
  readonly reassigned: readonly string[];
}

/** Where facades find the hooks of their process; they are plain source text and import nothing of ours. */
export const FACADE_KEY = 'reenact.module-hooks.1';

/** The functions a facade calls. */
export interface FacadeHost {
  loaded(module: FacadeModule, exports: unknown): Readonly<Record<string, unknown>>;
  /** The wrapped function for a call during a circular import, before the facade itself has run. */
  early(module: FacadeModule, name: string, value: unknown): unknown;
  /** What `module.exports` of a CommonJS module becomes. */
  commonJs(url: string, exports: unknown): unknown;
}

const MARK = 'reenact-facade';

/** The address of the facade of a module: the same file, told apart by its query. */
export function facadeUrl(url: string): string {
  const hash = url.indexOf('#');
  const [base, rest] = hash === -1 ? [url, ''] : [url.slice(0, hash), url.slice(hash)];
  return `${base}${base.includes('?') ? '&' : '?'}${MARK}${rest}`;
}

/**
 * Reads the exports of a module from its source text, JavaScript or TypeScript. `undefined` when it is not an ES module
 * or cannot be read: such a module is left alone, since a wrong facade would break the program.
 */
export function moduleShape(source: string, declared: readonly string[]): ModuleShape | undefined {
  let parsed: ReturnType<Lexer['parse']>;
  try {
    // Loaded here: most programs declare no ES module, and start-up time is theirs.
    const lexer = createRequire(__filename)('es-module-lexer') as Lexer;
    lexer.initSync();
    parsed = lexer.parse(source);
  } catch {
    // JSX and some TypeScript: the caller reports a module that was declared and not wrapped.
    return undefined;
  }
  const [imports, exported, , hasModuleSyntax] = parsed;
  const star = imports.some(({ ss, se }) => /^export\s*\*\s*from\b/.test(source.slice(ss, se)));
  if (!hasModuleSyntax) return undefined;
  const local = new Map(exported.map(({ n, ln }) => [n, ln] as const));
  const present = declared.filter((name) => local.has(name) || star || inDeclarationList(source, name));
  const reassigned = present.filter((name) => isReassigned(source, local.get(name) ?? name));
  return {
    hasDefault: local.has('default') && !/\bexport\s+default\s+interface\b/.test(source),
    names: present.filter((name) => !reassigned.includes(name)),
    reassigned,
  };
}

/** `export const a = 1, b = 2`: the lexer names only the first. */
function inDeclarationList(source: string, name: string): boolean {
  return isIdentifier(name) && new RegExp(`\\bexport\\s+(?:const|let|var)\\b[^;]*,\\s*${escape(name)}\\b`).test(source);
}

/** True for a `let` or `var` that is assigned somewhere besides its declaration. */
function isReassigned(source: string, name: string): boolean {
  if (!isIdentifier(name) || name === 'default') return false;
  const id = escape(name);
  if (!new RegExp(`\\b(?:let|var)\\s+(?:[^;=]*,\\s*)?${id}(?![\\w$])`).test(source)) return false;
  const assigned =
    source.match(new RegExp(`(?<![.\\w$])${id}\\s*(?:=(?![=>])|(?:\\|\\||&&|\\?\\?)=)`, 'g'))?.length ?? 0;
  const initialised = new RegExp(`\\b(?:let|var)\\s+(?:[^;]*,\\s*)?${id}\\s*=(?![=>])`).test(source) ? 1 : 0;
  return assigned > initialised;
}

function isIdentifier(name: string): boolean {
  return /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name);
}

function escape(name: string): string {
  return name.replace(/\$/g, '\\$');
}

/**
 * Source of the facade: everything of the original as it is, except the declared exports, which are bindings of the
 * facade. They are function declarations, so that a circular import can call them before the facade has run, as it
 * could call a function declaration of the original.
 */
export function facadeSource(url: string, shape: ModuleShape, specifier?: string): string {
  const from = JSON.stringify(url);
  const module: FacadeModule = { url, reassigned: shape.reassigned, ...(specifier !== undefined && { specifier }) };
  const names = shape.names.map((name, index) => [`e${index}`, JSON.stringify(name)] as const);
  const ownDefault = shape.names.includes('default');
  return [
    `import * as original from ${from};`,
    `export * from ${from};`,
    ...(shape.hasDefault && !ownDefault ? [`export { default } from ${from};`] : []),
    `function host() { return globalThis[Symbol.for(${JSON.stringify(FACADE_KEY)})]; }`,
    `function module() { return ${JSON.stringify(module)}; }`,
    ...names.map(
      ([id, name]) =>
        `function ${id}() { const f = host()?.early(module(), ${name}, original[${name}]) ?? original[${name}];` +
        ` return new.target ? Reflect.construct(f, arguments) : Reflect.apply(f, this, arguments); }`,
    ),
    'const replaced = host()?.loaded(module(), original) ?? {};',
    ...names.map(([id, name]) => `${id} = Object.hasOwn(replaced, ${name}) ? replaced[${name}] : original[${name}];`),
    ...(names.length > 0 ? [`export { ${names.map(([id, name]) => `${id} as ${name}`).join(', ')} };`] : []),
    '',
  ].join('\n');
}

/** Source of a CommonJS module followed by one line that puts replacements into its exports. */
export function hookedCommonJs(source: string, url: string): string {
  const host = `globalThis[Symbol.for(${JSON.stringify(FACADE_KEY)})]`;
  return `${source}\n;module.exports = ${host}?.commonJs(${JSON.stringify(url)}, module.exports) ?? module.exports;\n`;
}
