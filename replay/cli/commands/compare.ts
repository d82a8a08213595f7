import { ReenactError } from '../../../instrumentation/schema/errors';
import type { ExecutionLog } from '../../../instrumentation/schema/execution-log';
import { diffLogs } from '../../analysis/diff';
import type { TurnDiff } from '../../analysis/diff';
import { splitCommand } from '../../drivers/split-command';
import { replayCommand } from '../../drivers/script';
import type { ReplayDocument } from '../../player/report';
import { checkAssertions, parseAssertion } from '../../scenarios/assertions';
import type { AssertionSpec } from '../../scenarios/assertions';
import type { CommandDefinition, Invocation } from '../command';
import { collect, listOption, textOption } from '../command';
import { readPolicy } from '../replay-options';
import { addSourceOption, resolveLogs, storeOf } from '../source-options';

interface Side {
  readonly exitCode: number;
  readonly turns: number;
  readonly tools: readonly string[];
}

interface Compared {
  readonly ref: string;
  readonly a: Side | null;
  readonly b: Side | null;
  readonly firstDifference: TurnDiff | null;
  readonly assertionsFlipped: readonly string[];
  readonly error?: { code: string; message: string };
}

/** `reenact compare REF… --a CMD --b CMD`: replays every log with two versions of the agent. */
export const compare: CommandDefinition = {
  name: 'compare',
  usage: 'REF… --a CMD --b CMD [--assert A…]',
  summary: 'compare two versions of an agent over many logs',
  configure: (command) => {
    addSourceOption(command.argument('<refs...>'))
      .option('--a <command>', 'the one version, split as a shell would, run without one')
      .option('--b <command>', 'the other version')
      .option('--assert <assertion>', 'judged in both; may repeat', collect)
      .option('--on-divergence <policy>', 'what a call gets that no recording answers (recorded)');
  },
  run: async (invocation) => {
    const commands = { a: commandOf(invocation, 'a'), b: commandOf(invocation, 'b') };
    const assertions = listOption(invocation, 'assert').map(parseAssertion);
    const results: Compared[] = [];
    for (const ref of refsOf(invocation)) {
      for (const log of (await resolveLogs(invocation, ref)).logs) {
        results.push(await compareOne(invocation, { log, commands, assertions }));
        invocation.output.note(`reenact: ${inWords(results.at(-1) as Compared)}`);
      }
    }
    const failed = results.filter(({ error }) => error !== undefined).length;
    const changed = results.filter(
      ({ firstDifference, assertionsFlipped }) => firstDifference !== null || assertionsFlipped.length > 0,
    ).length;
    const document = { logs: results, changed, unchanged: results.length - changed - failed, failed };
    invocation.output.result(
      document,
      `${results.map((result) => `${inWords(result)}\n`).join('')}${changed} changed, ${document.unchanged} unchanged, ${failed} failed\n`,
    );
    return failed > 0 ? 1 : 0;
  },
};

function refsOf({ args }: Invocation): readonly string[] {
  const [refs] = args;
  return Array.isArray(refs) ? refs : [];
}

function commandOf(invocation: Invocation, side: 'a' | 'b'): readonly string[] {
  const parts = splitCommand(textOption(invocation, side) ?? '');
  if (parts.length === 0) throw new ReenactError('COMMAND_MISSING', `compare needs --${side} CMD`);
  return parts;
}

interface Plan {
  readonly log: ExecutionLog;
  readonly commands: { readonly a: readonly string[]; readonly b: readonly string[] };
  readonly assertions: readonly AssertionSpec[];
}

/** One result for each log; a log that cannot be replayed does not stop the others. */
async function compareOne(invocation: Invocation, { log, commands, assertions }: Plan): Promise<Compared> {
  const ref = log.sessionId;
  try {
    const run = async (command: readonly string[]): Promise<ReplayDocument> =>
      replayCommand({
        logs: [log],
        command,
        cwd: invocation.cwd,
        ref,
        onDivergence: readPolicy(textOption(invocation, 'onDivergence') ?? 'recorded'),
        store: storeOf(invocation),
        output: 'capture',
      });
    const [a, b] = [await run(commands.a), await run(commands.b)];
    const [before, after] = [await judge(assertions, a), await judge(assertions, b)];
    return {
      ref,
      a: sideOf(a),
      b: sideOf(b),
      firstDifference: firstDifference(a, b),
      assertionsFlipped: before.flatMap((passed, index) =>
        passed === after[index] ? [] : [JSON.stringify(assertions[index])],
      ),
    };
  } catch (error) {
    if (!(error instanceof ReenactError)) throw error;
    return {
      ref,
      a: null,
      b: null,
      firstDifference: null,
      assertionsFlipped: [],
      error: { code: error.code, message: error.message },
    };
  }
}

async function judge(assertions: readonly AssertionSpec[], report: ReplayDocument): Promise<boolean[]> {
  return (await checkAssertions(assertions, { logs: report.logs, report })).map(({ passed }) => passed);
}

function firstDifference(a: ReplayDocument, b: ReplayDocument): TurnDiff | null {
  const [left, right] = [a.logs[0], b.logs[0]];
  if (left === undefined || right === undefined) return null;
  return diffLogs(left, right).turns.find(({ kind }) => kind !== 'same') ?? null;
}

function sideOf(document: ReplayDocument): Side {
  const turns = document.logs.flatMap((log) => log.turns);
  const tools = turns.filter(({ type }) => type === 'tool_call').map(({ request }) => String(request['name']));
  return { exitCode: document.program.exitCode, turns: turns.length, tools };
}

function inWords({ ref, a, b, firstDifference: first, error }: Compared): string {
  if (error !== undefined) return `${ref}: failed: ${error.code} ${error.message}`;
  if (first === null) return `${ref}: the same`;
  return `${ref}: differs from turn ${first.a ?? first.b ?? '?'} (${first.kind}); tools ${a?.tools.join(', ')} | ${b?.tools.join(', ')}`;
}
