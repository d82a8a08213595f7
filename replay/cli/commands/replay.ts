import { replayExitCode, summaryLine } from '../../drivers/replay-document';
import { replayCommand } from '../../drivers/script';
import type { CommandDefinition } from '../command';
import { required } from '../command';
import { explainDivergences } from '../divergence-text';
import { addReplayOptions, planReplay } from '../replay-options';

/** `reenact replay REF -- CMD`: runs the program offline against the recording. */
export const replay: CommandDefinition = {
  name: 'replay',
  usage: 'REF [--set TURN=VALUE…] [--on-divergence POLICY] [-- CMD…]',
  summary: 'run the program again, offline, against a recording',
  configure: (command) => {
    addReplayOptions(command.argument('<ref>'));
  },
  run: async (invocation) => {
    const { output } = invocation;
    const plan = await planReplay(invocation, required(invocation, 0));
    const document = await replayCommand(plan);
    output.result(document, '');
    output.diagnostic(explainDivergences(document, output.errorPalette));
    output.note(summaryLine(document));
    return replayExitCode(document, plan);
  },
};
