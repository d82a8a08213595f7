import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const root = resolve(__dirname, '..');

function pages(): string[] {
  const docs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name));
  return ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', ...docs];
}

describe('documentation', () => {
  it('keeps the README at 150 lines or fewer', () => {
    expect(readFileSync(join(root, 'README.md'), 'utf8').split('\n').length).toBeLessThanOrEqual(151);
  });

  it('links only to files that exist', () => {
    const broken = pages().flatMap((page) => {
      const text = readFileSync(join(root, page), 'utf8');
      const links = [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map((match) => match[1] ?? '');
      return links
        .filter((link) => !existsSync(resolve(root, dirname(page), link)))
        .map((link) => `${page}: ${relative(root, resolve(root, dirname(page), link))}`);
    });
    expect(broken).toEqual([]);
    expect(pages().length).toBeGreaterThan(15);
  });

  it('describes every REENACT_ variable that the configuration reads', () => {
    const config = readFileSync(join(root, 'instrumentation/config.ts'), 'utf8');
    const reference = readFileSync(join(root, 'docs/reference/configuration.md'), 'utf8');
    const internal = ['REENACT_RUN_ID', 'REENACT_PROCESS', 'REENACT_REPLAY'];
    const read = [...config.matchAll(/env\['(REENACT_\w+)'\]/g)].map((match) => match[1] ?? '');
    expect(read.filter((name) => !internal.includes(name) && !reference.includes(name))).toEqual([]);
  });
});
