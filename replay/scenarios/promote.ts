import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ReenactError } from '../../instrumentation/schema/errors';
import type { ExecutionLog } from '../../instrumentation/schema/execution-log';
import { writeLogs } from '../log/log-file';
import type { DivergencePolicy } from '../player/report';
import type { AssertionSpec } from './assertions';
import { SCENARIO_SUFFIX } from './scenario-file';
import type { Scenario } from './scenario-file';
import { testFile } from './test-file';
import type { Runner } from './runner';

export interface Promotion {
  readonly log: ExecutionLog;
  readonly directory: string;
  readonly name: string;
  readonly command: readonly string[];
  readonly assertions: readonly AssertionSpec[];
  readonly toolOverrides?: Readonly<Record<string, unknown>>;
  readonly llmOverrides?: Readonly<Record<string, unknown>>;
  readonly ignore?: readonly string[];
  readonly onDivergence?: DivergencePolicy;
  readonly runner?: Runner;
  readonly replace?: boolean;
}

/**
 * Writes a conversation as a scenario: its log, the scenario file and, with a runner, a test file. Answers their paths.
 * @throws ReenactError FILE_EXISTS, FILE_NOT_WRITABLE
 */
export async function writePromoted(promotion: Promotion): Promise<string[]> {
  const { directory, name } = promotion;
  const logName = `${name}.log.jsonl`;
  const scenario: Scenario = {
    version: '1',
    name,
    log: logName,
    command: promotion.command,
    ...(promotion.toolOverrides && { toolOverrides: promotion.toolOverrides }),
    ...(promotion.llmOverrides && { llmOverrides: promotion.llmOverrides }),
    ...(promotion.onDivergence && { onDivergence: promotion.onDivergence }),
    ...(promotion.ignore && { ignore: promotion.ignore }),
    assertions: promotion.assertions,
  };
  const texts: [path: string, text: string][] = [
    [join(directory, `${name}${SCENARIO_SUFFIX}`), `${JSON.stringify(scenario, null, 2)}\n`],
  ];
  if (promotion.runner !== undefined) {
    const file = testFile(promotion.runner, scenario, directory);
    texts.push([join(directory, file.name), file.text]);
  }
  const logPath = join(directory, logName);
  const files = [...texts.map(([path]) => path), logPath];
  const existing = files.find((file) => existsSync(file));
  // All or nothing: a scenario beside the log of another one would be worse than an error.
  if (existing !== undefined && promotion.replace !== true)
    throw new ReenactError('FILE_EXISTS', `${existing} exists`, { hint: 'Choose another --name, or add --force.' });
  try {
    mkdirSync(directory, { recursive: true });
    await writeLogs(logPath, [promotion.log], { replace: promotion.replace === true });
    for (const [path, text] of texts) writeFileSync(path, text);
  } catch (cause) {
    if (cause instanceof ReenactError) throw cause;
    throw new ReenactError('FILE_NOT_WRITABLE', `${directory}: ${(cause as Error).message}`, { cause });
  }
  return files;
}
