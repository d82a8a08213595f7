const OPTION = /^(?:-r|--require|--import|--loader|--experimental-loader)(?:=(.*))?$/s;

/**
 * Packages that the command line loads before the program: TypeScript loaders and the like. They are no part of the
 * program, and what they read depends on caches of theirs that no recording holds.
 *
 * @returns the ends of their folders, as they stand in the file names of stacks
 */
export function preloadedPackages(execArgv: readonly string[], nodeOptions: string | undefined): string[] {
  const found = new Set<string>();
  for (const args of [execArgv, splitOptions(nodeOptions ?? '')]) {
    for (const [index, arg] of args.entries()) {
      const option = OPTION.exec(arg);
      const value = option === null ? undefined : (option[1] ?? args[index + 1]);
      const name = value === undefined ? undefined : packageOf(value);
      if (name !== undefined) found.add(`/node_modules/${name}/`);
    }
  }
  return [...found];
}

/** Node's own rule for NODE_OPTIONS: spaces part, double quotes hold together, a backslash within them escapes. */
function splitOptions(options: string): string[] {
  return [...options.matchAll(/(?:"((?:[^"\\]|\\.)*)"|[^\s"])+/gs)].map(([text]) =>
    text.replace(/"((?:[^"\\]|\\.)*)"/gs, (_, inner: string) => inner.replace(/\\(.)/gs, '$1')),
  );
}

/** The package of a bare specifier, or of a file within `node_modules`; the program's own preloads have none. */
function packageOf(specifier: string): string | undefined {
  const path = specifier.replaceAll('\\', '/');
  const at = path.lastIndexOf('/node_modules/');
  if (at < 0 && /^[./]|:/.test(path)) return undefined;
  const [first = '', second = ''] = (at < 0 ? path : path.slice(at + '/node_modules/'.length)).split('/');
  const name = first.startsWith('@') ? `${first}/${second}` : first;
  return name === '' ? undefined : name;
}
