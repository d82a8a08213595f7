import { asReenactError } from '../failure';
import { findScenarios } from '../../scenarios/scenario-file';
import { runScenario } from '../../scenarios/run-scenario';
import type { ScenarioResult } from '../../scenarios/run-scenario';
import { ReenactError } from '../../../instrumentation/schema/errors';
import type { CommandDefinition, Invocation } from '../command';
import { textOption } from '../command';
import { duration } from '../conversation/words';
import { cut, harmless, oneLine, wrap } from '../terminal-text';

/** Part of the document of `reenact test`. */
type Row = Pick<ScenarioResult, 'name' | 'file' | 'passed' | 'expected' | 'actual' | 'report' | 'durationMs'> & {
  readonly error?: { code: string; message: string; hint: string };
};

/** `reenact test PATH…`: runs the scenarios below the paths. Exit 0 when all pass. */
export const test: CommandDefinition = {
  name: 'test',
  usage: '[PATH…] [--shard i/n]',
  summary: 'run scenarios',
  configure: (command) => {
    command.argument('[paths...]').option('--shard <i/n>', 'run the i-th of n parts of the scenarios');
  },
  run: async (invocation) => {
    const { output, cwd } = invocation;
    const given = invocation.args[0];
    const files = findScenarios(Array.isArray(given) && given.length > 0 ? given : ['.'], cwd);
    if (files.length === 0) throw new ReenactError('NOTHING_COMPARED', 'no *.reenact.json was found');
    const chosen = files.filter(inShard(textOption(invocation, 'shard')));
    const rows: Row[] = [];
    for (const file of chosen) {
      const row = await runOne(file, invocation);
      rows.push(row);
      if (!output.json) output.options.stdout.write(describe(row, invocation));
    }
    const failed = rows.filter((row) => !row.passed).length;
    const document = { passed: rows.length - failed, failed, skipped: files.length - chosen.length, scenarios: rows };
    output.result(document, `${document.passed} passed, ${failed} failed, ${document.skipped} skipped\n`);
    // A scenario that could not be judged is wrong input only when nothing else was judged either.
    if (rows.length > 0 && rows.every((row) => row.error !== undefined)) return 2;
    return failed === 0 ? 0 : 1;
  },
};

async function runOne(file: string, { cwd }: Invocation): Promise<Row> {
  const started = performance.now();
  try {
    const { name, passed, expected, actual, report, durationMs, output } = await runScenario(file, { cwd });
    const explained = passed ? actual : withOutput(actual, output);
    return { name, file, passed, expected, actual: explained, report, durationMs };
  } catch (cause) {
    const { code, message, hint } = asReenactError(cause);
    return {
      name: file,
      file,
      passed: false,
      expected: 'the scenario can be run',
      actual: `${code} ${message}`,
      report: null,
      durationMs: Math.round(performance.now() - started),
      error: { code, message, hint },
    };
  }
}

function withOutput(actual: string, output: string): string {
  const last = output.trimEnd().split('\n').slice(-5).join('\n');
  return last === '' ? actual : `${actual}\nthe program printed last:\n${last}`;
}

function describe(row: Row, { output }: Invocation): string {
  const { green, red, dim } = output.palette;
  const head = `${row.passed ? green('pass') : red('FAIL')}  ${cut(oneLine(row.name), 60)} ${dim(duration(row.durationMs))}\n`;
  if (row.passed) return head;
  const part = (label: string, text: string): string =>
    wrap(harmless(text), 64)
      .map((line, index) => `      ${(index === 0 ? label : '').padEnd(9)} ${line}`.trimEnd())
      .join('\n');
  const hint = row.error === undefined ? '' : `${part('do', row.error.hint)}\n`;
  return `${head}${part('expected', row.expected)}\n${part('actual', row.actual)}\n${hint}`;
}

/** @throws ReenactError USAGE */
function inShard(text: string | undefined): (file: string, index: number) => boolean {
  if (text === undefined) return () => true;
  const [, i = '0', n = '0'] = /^(\d{1,5})\/(\d{1,5})$/.exec(text) ?? [];
  const [part, parts] = [Number(i), Number(n)];
  if (part < 1 || part > parts)
    throw new ReenactError('USAGE', `--shard takes i/n with 1 <= i <= n, not ${JSON.stringify(text)}`);
  return (_file, index) => index % parts === part - 1;
}
