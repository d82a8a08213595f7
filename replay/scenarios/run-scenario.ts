import { dirname, resolve } from 'node:path';
import { checkSets, fromOverrides, setText } from '../player/set-texts';
import { replayCommand } from '../drivers/script';
import { readLogs } from '../log/log-file';
import type { ReplayDocument } from '../player/report';
import { checkAssertions, combineVerdicts } from './assertions';
import type { CheckedAssertion } from './assertions';
import { readScenario } from './scenario-file';
import type { Scenario } from './scenario-file';

/** Result of one scenario. */
export interface ScenarioResult {
  readonly name: string;
  readonly file: string;
  readonly passed: boolean;
  readonly expected: string;
  readonly actual: string;
  /** The document of the replay; null when it could not run. */
  readonly report: ReplayDocument | null;
  readonly durationMs: number;
  readonly assertions: readonly CheckedAssertion[];
  /** End of what the program printed. */
  readonly output: string;
}

const DEFAULT_TIMEOUT_MS = 60_000;

/** Bytes of the program's output that are kept to explain a failure. */
const OUTPUT_TAIL = 4_000;

/**
 * Replays a scenario and judges its assertions; divergences alone do not fail it.
 * @throws ReenactError when it cannot be read or run
 */
export async function runScenario(
  file: string,
  options: { cwd?: string; env?: Readonly<Record<string, string | undefined>> } = {},
): Promise<ScenarioResult> {
  const started = performance.now();
  const scenario = readScenario(file);
  const cwd = scenarioCwd(scenario, file, options.cwd ?? process.cwd());
  const logs = await readLogs(resolve(dirname(file), scenario.log));
  let output = '';
  const report = await replayCommand({
    logs,
    command: scenarioCommand(scenario.command),
    cwd,
    ...(options.env && { env: options.env }),
    ref: scenario.log,
    overrides: checkSets(fromOverrides(scenario), logs, dirname(file)).map(setText),
    onDivergence: scenario.onDivergence ?? 'fail',
    ignore: scenario.ignore ?? [],
    output: 'capture',
    onOutput: (piece) => (output = (output + piece.toString('utf8')).slice(-OUTPUT_TAIL)),
    timeoutMs: scenario.timeoutMs ?? DEFAULT_TIMEOUT_MS,
  });
  const assertions = await checkAssertions(scenario.assertions, { logs: report.logs, report });
  return {
    name: scenario.name,
    file,
    ...combineVerdicts(assertions),
    report,
    durationMs: Math.round(performance.now() - started),
    assertions,
    output,
  };
}

/** `node` in a scenario is the Node that runs the test, so that one file serves every machine. */
export function scenarioCommand(command: readonly string[]): string[] {
  return command.map((part, index) => (index === 0 && part === 'node' ? process.execPath : part));
}

function scenarioCwd(scenario: Scenario, file: string, cwd: string): string {
  return scenario.cwd === undefined ? cwd : resolve(dirname(file), scenario.cwd);
}
