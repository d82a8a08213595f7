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
      const { logs: _logs, ...report } = await replayCommand(plan);
      reports.push(report);
      if (!report.faithful) output.diagnostic(explainDivergences({ ...report, logs: [] }, output.errorPalette));
      output.note(summaryLine(report));
    }
    const faithful = reports.filter((report) => report.faithful).length;
    output.result({ runs, faithful, reports }, '');
    output.note(`reenact: ${faithful} of ${runs} runs faithful`);
    return faithful === runs ? 0 : 1;
  },
};
