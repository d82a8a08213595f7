import { ReenactError } from '../../../instrumentation/schema/errors';
import { candidate, candidatesFrom, findRootCause } from '../../analysis/root-cause';
import type { Candidate, RootCause } from '../../analysis/root-cause';
import { replayCommand } from '../../drivers/script';
import { requireOne } from '../../log/resolve-ref';
import { checkSets } from '../../player/set-texts';
import { checkAssertions, parseAssertion } from '../../scenarios/assertions';
import type { CommandDefinition, Invocation } from '../command';
import { collect, listOption, required, textOption } from '../command';
import { addReplayOptions, planReplay, readCount } from '../replay-options';
import { resolveOne } from '../source-options';

const DEFAULT_REPLAYS = 100;

/** `reenact bisect REF --expect A`: finds the recorded value that decided the outcome. */
export const bisect: CommandDefinition = {
  name: 'bisect',
  usage: 'REF --expect ASSERTION [--siblings REF…] [--try TURN=VALUE…] [-- CMD…]',
  summary: 'find the recorded value that decided the outcome',
  configure: (command) => {
    addReplayOptions(command.argument('<ref>'))
      .option('--expect <assertion>', 'what should have held: JSON or a short form')
      .option('--siblings <ref>', 'a conversation that went well, for values to try; may repeat', collect)
      .option('--try <turn=value>', 'a value to try; may repeat', collect)
      .option('--max-replays <n>', `stop after so many replays (${DEFAULT_REPLAYS})`);
  },
  run: async (invocation) => {
    const expect = textOption(invocation, 'expect');
    if (expect === undefined) throw new ReenactError('ASSERTION_INVALID', 'bisect needs --expect ASSERTION');
    const assertion = parseAssertion(expect);
    const maxReplays = readCount(invocation, 'maxReplays', '--max-replays') ?? DEFAULT_REPLAYS;
    const plan = await planReplay(invocation, required(invocation, 0));
    const onDivergence = textOption(invocation, 'onDivergence') === undefined ? 'recorded' : plan.onDivergence;
    const log = requireOne([...plan.logs]);
    const siblings = await Promise.all(listOption(invocation, 'siblings').map((ref) => resolveOne(invocation, ref)));
    const groups = [...given(invocation, log), ...candidatesFrom(log, siblings)];
    if (groups.length === 0)
      throw new ReenactError('NOTHING_COMPARED', 'there is no value to try', {
        hint: 'Give --siblings REF (a conversation that went well and differs in some answer) or --try TURN=VALUE.',
      });
    const trial = async (overrides: readonly string[]): Promise<boolean> => {
      invocation.output.note(
        `reenact: trying ${overrides.length === 0 ? 'the recording as it is' : overrides.join(' ').slice(0, 120)}`,
      );
      const report = await replayCommand({ ...plan, onDivergence, overrides, output: 'capture' });
      return (await checkAssertions([assertion], { logs: report.logs, report })).every(({ passed }) => passed);
    };
    const cause = await findRootCause(groups, trial, maxReplays);
    invocation.output.result({ expect, ...shown(cause), live: 0, cost: 0 }, inWords(cause, expect));
    return cause.abstained ? 1 : 0;
  },
};

function given(invocation: Invocation, log: Parameters<typeof candidatesFrom>[0]): Candidate[][] {
  return checkSets(listOption(invocation, 'try'), [log], invocation.cwd).map((set) => {
    if (set.turn === undefined) throw new ReenactError('SET_INVALID', `--try ${set.target}: name one turn`);
    const turn = log.turns.indexOf(set.turn) + 1;
    const replacement: unknown = set.isText ? set.value : JSON.parse(set.value);
    const made = candidate({ turn, path: set.pointer, recorded: undefined, replacement });
    return [set.isText ? { ...made, set: `${set.target}=${set.value}` } : made];
  });
}

function shown(cause: RootCause): object {
  const short = ({ turn, path, recorded, replacement }: Candidate): object => ({ turn, path, recorded, replacement });
  return {
    ...cause,
    decisive: cause.decisive.map(short),
    tried: cause.tried.map(short),
    untried: cause.untried.map(short),
  };
}

function inWords(cause: RootCause, expect: string): string {
  if (cause.abstained)
    return `No tried value makes ${expect} hold (${cause.replays} replays, ${cause.tried.length} values tried, ${cause.untried.length} not).\n`;
  const lines = cause.decisive.map(
    ({ turn, path, recorded, replacement }) =>
      `turn ${turn}${path === '' ? '' : `, ${path}`}: ${JSON.stringify(recorded)} → ${JSON.stringify(replacement)}`,
  );
  return `Decided by:\n  ${lines.join('\n  ')}\n${cause.replays} replays; ${expect} holds with the change.\n`;
}
