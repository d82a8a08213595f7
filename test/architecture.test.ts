import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { assertionKinds } from '../replay/scenarios/assertions';

const root = resolve(__dirname, '..');
const CODE_FOLDERS = ['instrumentation', 'exporter', 'replay'];
const MAX_LINES = 400;

function filesOf(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

const files = CODE_FOLDERS.flatMap((folder) => filesOf(join(root, folder)));

function textOf(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}

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
  // The composition roots of a replayed process, and of a function replayed inside a process.
  if (from === 'replay/register.ts' || /^replay\/drivers\/function(-\w+)?\.ts$/.test(from)) return true;
  // Reading and storing spans, not recording them.
  if (inside(to, 'exporter')) return /^exporter\/(local-store|otlp[\w-]*|span-(de|en)coder|send-spool)\.ts$/.test(to);
  return !/^instrumentation\/(register|compose-recorder|recorder|taps\/.*|tools\/.*|module-hooks)\.ts$/.test(to);
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

  it('keeps the example free of the package', () => {
    const agents = readdirSync(join(root, 'examples/retention')).filter((name) => /^(agent|tools)/.test(name));
    expect(agents.length).toBeGreaterThan(2);
    expect(agents.filter((name) => textOf(`examples/retention/${name}`).includes('reenact'))).toEqual([]);
  });
});

const tests = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && name !== 'architecture.test.ts')
  .map((name) => textOf(`test/${name}`))
  .join('\n');

describe('registries', () => {
  it.each(['instrumentation/providers/registry.ts', 'instrumentation/taps/registry.ts', 'replay/sources/registry.ts'])(
    'has a test that names each file of %s',
    (registry) => {
      const entries = [...textOf(registry).matchAll(/^import \{ \w+[^}]*\} from '\.\/([\w-]+)'/gm)].map(
        ([, name]) => name,
      );
      expect(entries.length).toBeGreaterThan(1);
      const isNamed = (name = ''): boolean => tests.includes(name) || tests.includes(name.replaceAll('-', '_'));
      expect(entries.filter((name) => !isNamed(name))).toEqual([]);
    },
  );

  it('has a test that names each assertion', () => {
    const types = assertionKinds.map(({ type }) => type);
    expect(types.length).toBeGreaterThan(8);
    expect(types.filter((type) => !tests.includes(`'${type}'`))).toEqual([]);
  });

  it('has a page of the reference that names each command', () => {
    const commands = [...textOf('replay/cli/commands/index.ts').matchAll(/^ {2}(\w+),$/gm)].map(
      ([, name]) => name ?? '',
    );
    const cli = textOf('docs/reference/cli.md');
    expect(commands.length).toBeGreaterThan(10);
    expect(commands.filter((name) => !cli.includes(`reenact ${name}`) && !cli.includes(`\`${name}\``))).toEqual([]);
  });
});
