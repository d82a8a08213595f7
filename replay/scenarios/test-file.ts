import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Runner } from './runner';
import { SCENARIO_SUFFIX } from './scenario-file';
import type { Scenario } from './scenario-file';

/** A test file for a runner; it reads the scenario beside it, so that the two cannot disagree. */
export function testFile(runner: Runner, scenario: Scenario, directory: string): { name: string; text: string } {
  const { name } = scenario;
  if (runner === 'jest')
    return { name: `${name}.test.${isModulePackage(directory) ? 'cjs' : 'js'}`, text: jestFile(scenario) };
  return { name: `${name}.test.mjs`, text: runner === 'vitest' ? vitestFile(scenario) : nodeFile(scenario) };
}

/** In a package of type `module` a `.js` file is no CommonJS, which jest runs without flags. */
function isModulePackage(directory: string): boolean {
  for (let folder = directory; ; folder = dirname(folder)) {
    const file = join(folder, 'package.json');
    if (existsSync(file)) {
      try {
        return (JSON.parse(readFileSync(file, 'utf8')) as { type?: unknown }).type === 'module';
      } catch {
        // A package.json that cannot be read is the user's to mend; CommonJS is Node's own default then.
        return false;
      }
    }
    if (dirname(folder) === folder) return false;
  }
}

/** The program runs in a process of its own, so the test only waits. */
const TIMEOUT_MS = 90_000;

/** Only the fields that the scenario has. */
function optionalFields(scenario: Scenario): string {
  const fields = ['onDivergence', 'ignore', 'toolOverrides', 'llmOverrides'] as const;
  return fields
    .filter((field) => scenario[field] !== undefined)
    .map((field) => `\n    ${field}: scenario.${field},`)
    .join('');
}

function call(scenario: Scenario, folder: string): string {
  return `runWithReplay({
    agent: { command: scenario.command },
    executionLog: join(${folder}, scenario.log),
    assertions: scenario.assertions,${optionalFields(scenario)}
  })`;
}

function jestFile(scenario: Scenario): string {
  const file = `${scenario.name}${SCENARIO_SUFFIX}`;
  return `const { join } = require('node:path');
const { runWithReplay } = require('reenact/replay');
const scenario = require(${JSON.stringify(`./${file}`)});

test(scenario.name, async () => {
  const { passed, expected, actual } = await ${call(scenario, '__dirname')};
  if (!passed) throw new Error(\`expected: \${expected}\\nactual:   \${actual}\`);
}, ${TIMEOUT_MS});
`;
}

function vitestFile(scenario: Scenario): string {
  return `${moduleHead(scenario, "import { test } from 'vitest';")}
test(scenario.name, async () => {
  const { passed, expected, actual } = await ${call(scenario, 'folder')};
  if (!passed) throw new Error(\`expected: \${expected}\\nactual:   \${actual}\`);
}, ${TIMEOUT_MS});
`;
}

function nodeFile(scenario: Scenario): string {
  return `${moduleHead(scenario, "import { test } from 'node:test';")}
test(scenario.name, { timeout: ${TIMEOUT_MS} }, async () => {
  const { passed, expected, actual } = await ${call(scenario, 'folder')};
  if (!passed) throw new Error(\`expected: \${expected}\\nactual:   \${actual}\`);
});
`;
}

function moduleHead(scenario: Scenario, runnerImport: string): string {
  const file = `${scenario.name}${SCENARIO_SUFFIX}`;
  return `import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
${runnerImport}
import { runWithReplay } from 'reenact/replay';

const folder = dirname(fileURLToPath(import.meta.url));
const scenario = JSON.parse(readFileSync(join(folder, ${JSON.stringify(file)}), 'utf8'));
`;
}
