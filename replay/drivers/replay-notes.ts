import type { ExecutionLog } from '../../instrumentation/schema/execution-log';
import type { ProcessReport } from '../player/report';

/** Names told one by one. */
const MAX_NAMES = 8;

/** What a person should know of a replay that is no difference: tools that ran for real, changes that changed nothing. */
export function replayNotes(logs: readonly ExecutionLog[], reports: readonly ProcessReport[]): string[] {
  const inferred = toolNames(logs, (turn) => turn.inferred === true);
  const notes: string[] = [];
  if (inferred.count > 0)
    notes.push(
      `${inferred.count} tool ${inferred.count === 1 ? 'call' : 'calls'} of the recording (${list(inferred.names)}) ` +
        'came from the messages only: a replay runs such tools for real. Declare them in reenact.config.json.',
    );
  const [first, ...others] = reports.map((report) => new Set(report.unusedOverrides ?? []));
  // A change answers a call of some process; only what no process came to is told.
  const unused = [...(first ?? [])].filter((text) => others.every((set) => set.has(text)));
  const tools = toolNames(logs, () => true).names;
  for (const text of unused)
    notes.push(
      `--set ${text.split('=', 1)[0] ?? ''} answered no call` +
        (tools.length > 0 ? `; tools of the conversation: ${list(tools)}` : ''),
    );
  return notes;
}

function toolNames(
  logs: readonly ExecutionLog[],
  matches: (turn: ExecutionLog['turns'][number]) => boolean,
): { count: number; names: string[] } {
  const turns = logs.flatMap((log) => log.turns).filter((turn) => turn.type === 'tool_call' && matches(turn));
  return { count: turns.length, names: [...new Set(turns.map((turn) => String(turn.request['name'])))] };
}

function list(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).join(', ');
  return names.length > MAX_NAMES ? `${shown}, …` : shown;
}
