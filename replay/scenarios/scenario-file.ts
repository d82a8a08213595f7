import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import Ajv from 'ajv';
import { ReenactError } from '../../instrumentation/schema/errors';
import type { DivergencePolicy } from '../player/report';
import { parseAssertion } from './assertions';
import type { AssertionSpec } from './assertions';
import { scenarioSchema } from './scenario-schema';

/** A scenario: a log, what is changed in it, how the program is run, and what must hold. `NAME.reenact.json`. */
export interface Scenario {
  readonly version: '1';
  readonly name: string;
  /** Relative to the scenario file. */
  readonly log: string;
  /** Program and arguments, run without a shell; `node` stands for the running Node. */
  readonly command: readonly string[];
  /** Relative to the scenario file; without it the working directory of the test run. */
  readonly cwd?: string;
  /** What turns answer instead, by turn as `--set` names it. */
  readonly toolOverrides?: Readonly<Record<string, unknown>>;
  readonly llmOverrides?: Readonly<Record<string, unknown>>;
  readonly onDivergence?: DivergencePolicy;
  readonly ignore?: readonly string[];
  readonly assertions: readonly AssertionSpec[];
  /** Longest time the program may take; 60 s without it. */
  readonly timeoutMs?: number;
}

export const SCENARIO_SUFFIX = '.reenact.json';

/**
 * Reads and checks a scenario file.
 * @throws ReenactError FILE_NOT_FOUND, SCENARIO_INVALID, ASSERTION_INVALID
 */
export function readScenario(file: string): Scenario {
  const parsed = parseFile(file);
  const validate = new Ajv({ allErrors: false }).compile<Scenario>(scenarioSchema);
  if (!validate(parsed)) {
    const [error] = validate.errors ?? [];
    throw new ReenactError('SCENARIO_INVALID', `${file}: ${error?.instancePath || 'it'} ${error?.message ?? ''}`);
  }
  for (const assertion of parsed.assertions) parseAssertion(assertion);
  const log = resolve(dirname(file), parsed.log);
  if (!existsSync(log)) throw new ReenactError('FILE_NOT_FOUND', `${file} names the log ${log}, which does not exist`);
  return parsed;
}

function parseFile(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new ReenactError('FILE_NOT_FOUND', `${file} cannot be read`, { cause });
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new ReenactError('SCENARIO_INVALID', `${file} is not JSON: ${(cause as Error).message}`, { cause });
  }
}

/**
 * Scenario files under the given files and folders, sorted.
 * @throws ReenactError FILE_NOT_FOUND
 */
export function findScenarios(paths: readonly string[], cwd: string): string[] {
  const found = paths.flatMap((path) => {
    const full = resolve(cwd, path);
    if (!existsSync(full)) throw new ReenactError('FILE_NOT_FOUND', `${full} does not exist`);
    return statSync(full).isDirectory() ? scenariosBelow(full) : [full];
  });
  return [...new Set(found)].sort();
}

function scenariosBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === 'node_modules' || entry.name === '.git' || entry.name === '.reenact') return [];
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return scenariosBelow(path);
    return entry.name.endsWith(SCENARIO_SUFFIX) ? [path] : [];
  });
}
