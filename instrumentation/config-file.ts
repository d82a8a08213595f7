import { ReenactError } from './schema/errors';

/** Functions of one module that are tools or observations, declared with no change to the program. */
export interface DeclaredFunctions {
  /** As the program would import it from the folder of the configuration file. */
  readonly module: string;
  /** Export names; `registry.*` stands for every function in the exported object `registry`. */
  readonly exports: readonly string[];
  /** Names for the recording, by export (`getOrder` or `registry.getOrder`). */
  readonly names?: Readonly<Record<string, string>>;
  readonly replay?: 'substitute' | 'run';
}

/** `reenact.config.json`. */
export interface ConfigFile {
  /** Where an inbound request names its conversation: a header, or a JSON Pointer into its JSON body. */
  readonly session?: { readonly header?: string; readonly body?: string };
  readonly tools?: readonly DeclaredFunctions[];
  readonly observe?: readonly DeclaredFunctions[];
  /** Hosts (`api.example.com`, `*.example.com`) and routes (`/health`, `/internal/*`) that are not recorded. */
  readonly exclude?: { readonly hosts?: readonly string[]; readonly routes?: readonly string[] };
  /** Module with a default export `(text, { place }) => text`, applied before hashing and export. */
  readonly redact?: { readonly module?: string; readonly patterns?: readonly string[] };
  /** JSON Pointers into request bodies that do not count when calls are matched. */
  readonly ignore?: readonly string[];
  /** Further variables whose values may be recorded. */
  readonly env?: readonly string[];
}

/** Fields of the file and of what stands in it; a misspelt `exclude` would record what must not be recorded. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  '': ['$schema', 'session', 'tools', 'observe', 'exclude', 'redact', 'ignore', 'env'],
  session: ['header', 'body'],
  exclude: ['hosts', 'routes'],
  redact: ['module', 'patterns'],
  tools: ['module', 'exports', 'names', 'replay'],
  observe: ['module', 'exports', 'names', 'replay'],
};

/** Fields that are lists of texts. */
const LISTS = ['exclude.hosts', 'exclude.routes', 'redact.patterns', 'ignore', 'env'];

/** @throws ReenactError CONFIG_INVALID */
export function checkConfigFile(parsed: unknown, path: string): ConfigFile {
  const fail = (what: string): never => {
    throw new ReenactError('CONFIG_INVALID', `${path}: ${what}`);
  };
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return fail('must be a JSON object');
  checkFields('', parsed, fail);
  const file = parsed as ConfigFile;
  for (const field of ['exclude', 'redact'] as const)
    if (
      file[field] !== undefined &&
      (typeof file[field] !== 'object' || file[field] === null || Array.isArray(file[field]))
    )
      return fail(`"${field}" must be an object`);
  for (const place of LISTS) {
    const list = place
      .split('.')
      .reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], file);
    if (list !== undefined && !(Array.isArray(list) && list.every((item) => typeof item === 'string')))
      return fail(`"${place}" must be a list of texts`);
  }
  checkSession(file.session, fail);
  for (const field of ['tools', 'observe'] as const) {
    const list: unknown = file[field] ?? [];
    if (!Array.isArray(list)) return fail(`"${field}" must be an array`);
    for (const [index, entry] of (list as Partial<DeclaredFunctions>[]).entries()) {
      checkFields(field, entry, fail);
      if (typeof entry?.module !== 'string') return fail(`"${field}[${index}].module" must be a string`);
      if (!Array.isArray(entry.exports) || !entry.exports.every((name) => typeof name === 'string'))
        return fail(`"${field}[${index}].exports" must be an array of strings`);
      if (entry.replay !== undefined && entry.replay !== 'substitute' && entry.replay !== 'run')
        return fail(`"${field}[${index}].replay" must be "substitute" or "run"`);
    }
  }
  return file;
}

function checkFields(place: string, value: unknown, fail: (what: string) => never): void {
  if (typeof value !== 'object' || value === null) return;
  const known = FIELDS[place] ?? [];
  for (const [field, inner] of Object.entries(value)) {
    const path = place === '' ? field : `${place}.${field}`;
    if (!known.includes(field)) fail(`"${path}" is no field of it; known: ${known.join(', ')}`);
    if (place === '' && Object.hasOwn(FIELDS, field) && !Array.isArray(inner)) checkFields(field, inner, fail);
  }
}

function checkSession(session: unknown, fail: (what: string) => never): void {
  if (session === undefined) return;
  if (typeof session !== 'object' || session === null) fail('"session" must be an object');
  const { header = 'x', body = '/' } = session as { header?: unknown; body?: unknown };
  if (typeof header !== 'string' || header === '') fail('"session.header" must be the name of a header');
  if (typeof body !== 'string' || !body.startsWith('/'))
    fail('"session.body" must be a JSON Pointer such as "/conversation/id"');
}
