import { ReenactError } from '../../../instrumentation/schema/errors';
import type { ExecutionLog } from '../../../instrumentation/schema/execution-log';
import type { CommandDefinition, Invocation } from '../command';
import { required, textOption } from '../command';
import { renderText } from '../conversation/render-text';
import { viewConversation } from '../conversation/view';
import { addSourceOption, resolveOne } from '../source-options';

/** Lines of one text in the overview; `--turn` shows all. */
const OVERVIEW_LINES = 12;

/** `reenact show REF`: the conversation, to read. */
export const show: CommandDefinition = {
  name: 'show',
  usage: 'REF [--turn N] [--from SOURCE]',
  summary: 'show a conversation',
  configure: (command) => {
    addSourceOption(command.argument('<ref>')).option('--turn <n>', 'show one turn in full');
  },
  run: async (invocation) => {
    const log = await resolveOne(invocation, required(invocation, 0));
    const turn = textOption(invocation, 'turn');
    if (turn === undefined) invocation.output.result(log, overview(log, invocation));
    else {
      const number = turnNumber(turn, log);
      invocation.output.result({ ...log, turns: [log.turns[number - 1]] }, oneTurn(log, number, invocation));
    }
    return 0;
  },
};

function overview(log: ExecutionLog, { output }: Invocation): string {
  return renderText(viewConversation(log), {
    palette: output.palette,
    width: output.width,
    maxLines: OVERVIEW_LINES,
  });
}

function oneTurn(log: ExecutionLog, number: number, { output }: Invocation): string {
  const view = viewConversation(log, { whole: true });
  const entries = view.entries.filter((entry) => entry.kind !== 'note' && entry.number === number);
  return renderText({ ...view, entries }, { palette: output.palette, width: output.width, maxLines: Infinity });
}

function turnNumber(text: string, log: ExecutionLog): number {
  const number = /^\d+$/.test(text) ? Number(text) : 0;
  if (number >= 1 && number <= log.turns.length) return number;
  throw new ReenactError('TURN_NOT_FOUND', `session ${log.sessionId} has turns 1 to ${log.turns.length}, not ${text}`);
}
