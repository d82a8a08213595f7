import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const root = resolve(__dirname, '..');
const CODE_FOLDERS = ['instrumentation', 'exporter', 'replay'];
const MAX_LINES = 400;

function filesOf(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

const files = CODE_FOLDERS.flatMap((folder) => filesOf(join(root, folder)));

/** Every import of our own, of types too, and those by `require` and `import()`. */
function importsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  const found = [...text.matchAll(/(?:from|require\(|import\()\s*'(\.{1,2}\/[^']+)'/g)].map((match) => match[1] ?? '');
  return found.map((specifier) => {
    const path = relative(root, resolve(root, dirname(file), specifier));
    return existsSync(join(root, `${path}.ts`)) ? `${path}.ts` : join(path, 'index.ts');
  });
}

const edges = files.flatMap((from) => importsOf(from).map((to) => ({ from, to })));
const inside = (path: string, folder: string): boolean => path.startsWith(`${folder}/`);

/** Import rules of the design: who may know whom. */
function isAllowed({ from, to }: { from: string; to: string }): boolean {
  if (from === 'instrumentation/register.ts') return true;
  if (inside(from, 'instrumentation/schema')) return inside(to, 'instrumentation/schema');
  if (inside(from, 'instrumentation')) return inside(to, 'instrumentation');
  if (inside(from, 'exporter')) {
    // The configuration is data; the exporter reads its OTLP settings and rules from it.
    return inside(to, 'exporter') || inside(to, 'instrumentation/schema') || to === 'instrumentation/config.ts';
  }
  return true;
}

describe('architecture', () => {
  it('resolves every import to a file of the repository', () => {
    expect(edges.filter(({ to }) => !files.includes(to))).toEqual([]);
    expect(edges.length).toBeGreaterThan(500);
  });

  it('keeps the direction of imports', () => {
    expect(edges.filter((edge) => !isAllowed(edge)).map(({ from, to }) => `${from} -> ${to}`)).toEqual([]);
  });

  it('has no cycles, of types neither', () => {
    const targets = new Map(files.map((file) => [file, importsOf(file)]));
    const done = new Set<string>();
    const cycles: string[] = [];
    const visit = (file: string, path: readonly string[]): void => {
      if (path.includes(file)) cycles.push([...path.slice(path.indexOf(file)), file].join(' -> '));
      if (path.includes(file) || done.has(file)) return;
      for (const next of targets.get(file) ?? []) visit(next, [...path, file]);
      done.add(file);
    };
    for (const file of files) visit(file, []);
    expect(cycles).toEqual([]);
  });

  it(`keeps files at ${MAX_LINES} lines or fewer`, () => {
    const long = files.filter((file) => readFileSync(join(root, file), 'utf8').split('\n').length > MAX_LINES + 1);
    expect(long).toEqual([]);
  });

  it('names files by what they hold', () => {
    expect(files.filter((file) => /(^|\/)(utils?|helpers?|misc|common|shared)(\/|\.ts$)/.test(file))).toEqual([]);
    expect(files.filter((file) => !/^[a-z0-9/.-]+$/.test(file))).toEqual([]);
  });

  it('imports the SDKs of providers nowhere', () => {
    const importing = files.filter((file) =>
      /from '(openai|@anthropic-ai\/sdk|undici)'/.test(readFileSync(join(root, file), 'utf8')),
    );
    expect(importing).toEqual([]);
  });

  it('gives every provider, source and assertion of a registry a test', () => {
    const tests = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(root, 'test', name), 'utf8'))
      .join('\n');
    const registries = [
      'instrumentation/providers/registry',
      'instrumentation/taps/registry',
      'replay/sources/registry',
    ];
    const entries = registries.flatMap((name) => {
      const registry = readFileSync(join(root, `${name}.ts`), 'utf8');
      return [...registry.matchAll(/import \{ (\w+)[^}]*\} from '\.\/([\w-]+)'/g)].map((match) => match[2] ?? '');
    });
    expect(entries.length).toBeGreaterThan(7);
    expect(entries.filter((name) => !tests.includes(name) && !tests.includes(name.replaceAll('-', '_')))).toEqual([]);
  });
});
