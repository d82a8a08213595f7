import { summaryLine } from '../../drivers/replay-document';
import { replayCommand } from '../../drivers/script';
import type { ReplayDocument } from '../../player/report';
import type { CommandDefinition } from '../command';
import { required } from '../command';
import { explainDivergences } from '../divergence-text';
import { addReplayOptions, planReplay, readCount } from '../replay-options';

const DEFAULT_RUNS = 3;

/** `reenact verify REF --runs N`: replays several times; passes when every run is faithful. */
export const verify: CommandDefinition = {
  name: 'verify',
  usage: 'REF [--runs N] [-- CMD…]',
  summary: 'replay several times and check that every run is the recorded one',
  configure: (command) => {
    addReplayOptions(command.argument('<ref>')).option('--runs <n>', `number of runs (${DEFAULT_RUNS})`);
  },
  run: async (invocation) => {
    const { output } = invocation;
    const runs = readCount(invocation, 'runs', '--runs') ?? DEFAULT_RUNS;
    const plan = await planReplay(invocation, required(invocation, 0));
    const reports: Omit<ReplayDocument, 'logs'>[] = [];
    for (let run = 0; run < runs; run++) {
      const document = await replayCommand(plan);
      reports.push(withoutLogs(document));
      if (!document.faithful) output.diagnostic(explainDivergences(document, output.errorPalette));
      output.note(summaryLine(document));
    }
    const faithful = reports.filter((report) => report.faithful).length;
    output.result({ runs, faithful, reports }, '');
    output.note(`reenact: ${faithful} of ${runs} runs faithful`);
    return faithful === runs ? 0 : 1;
  },
};

/** Logs that are all alike would make the document as long as the number of runs. */
function withoutLogs(document: ReplayDocument): Omit<ReplayDocument, 'logs'> {
  const copy: Partial<ReplayDocument> = { ...document };
  delete copy.logs;
  return copy as Omit<ReplayDocument, 'logs'>;
}
