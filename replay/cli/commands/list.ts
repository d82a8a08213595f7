import { listLogs } from '../../log/list';
import type { ListRow } from '../../log/list';
import { parseSource } from '../../sources/registry';
import type { CommandDefinition } from '../command';
import { textOption } from '../command';
import { duration, moment } from '../conversation/words';
import { addSourceOption, storeOf } from '../source-options';
import { columns, cut, oneLine } from '../terminal-text';

/** `reenact list`: what is recorded. */
export const list: CommandDefinition = {
  name: 'list',
  usage: '[--from SOURCE] [--all]',
  summary: 'list the recorded conversations',
  configure: (command) => {
    addSourceOption(command);
    command.option('--all', 'replays too');
  },
  run: async (invocation) => {
    const source = parseSource(textOption(invocation, 'from') ?? 'local', storeOf(invocation));
    const rows = await listLogs(source);
    invocation.output.result(rows, tableOf(rows, invocation.options['all'] === true));
    return 0;
  },
};

/** People look for what was recorded; a program that reads the document tells replays by `replayOf`. */
export function tableOf(rows: readonly ListRow[], all: boolean): string {
  const shown = all ? rows : rows.filter((row) => row.replayOf === undefined);
  const hidden = rows.length - shown.length;
  const rest = hidden === 0 ? '' : `and ${hidden} ${hidden === 1 ? 'replay' : 'replays'}, shown with --all\n`;
  if (shown.length === 0)
    return hidden === 0 ? 'Nothing is recorded here.\n' : `Nothing but replays is here: ${rest.slice(4)}`;
  return listTable(shown) + rest;
}

/** One word, for the line has room for one. */
function outcomeOf(row: ListRow): string {
  if (row.replayOf !== undefined) return 'replay';
  return row.failure === undefined ? (row.outcome ?? '-') : 'failed';
}

const HEAD = ['SESSION', 'STARTED (UTC)', 'DURATION', 'TURNS', 'OUTCOME', 'VERSION'] as const;

/** What a terminal shows without wrapping. */
const WIDTH = 80;

/** Ids are there to be copied: the table has as much of them as fits, and a longer one a line of its own. */
export function listTable(rows: readonly ListRow[]): string {
  const cells = rows.map((row) => [
    oneLine(row.sessionId),
    moment(row.startedAt).slice(0, 16),
    duration(row.durationMs),
    `${row.turns}${row.gaps > 0 ? ` (${row.gaps} gaps)` : ''}`,
    outcomeOf(row),
    cut(oneLine([row.agentVersion, row.promptVersion].filter(Boolean).join('/') || '-'), 12),
  ]);
  const [head, ...lines] = alignColumns([[...HEAD], ...cells].map(([, ...rest]) => rest)).map((text, index) => ({
    id: index === 0 ? HEAD[0] : (cells[index - 1]?.[0] ?? ''),
    text,
  }));
  const widest = Math.max(...[head, ...lines].map((line) => columns(line?.text ?? '')));
  const room = WIDTH - widest - GAP.length;
  const fitting = [head, ...lines].map((line) => columns(line?.id ?? '')).filter((width) => width <= room);
  const width = Math.max(...fitting);
  const shown = lines.map(({ id, text }, index) => {
    const run = rows[index]?.runId;
    const first =
      columns(id) <= width ? `${pad(id, width)}${GAP}${text}` : `${cut(id, WIDTH)}\n${pad('', width)}${GAP}${text}`;
    return run === undefined || run === id ? first : `${first}\n${GAP}run ${run}`;
  });
  return [`${pad(HEAD[0], width)}${GAP}${head?.text ?? ''}`, ...shown].map((line) => `${line}\n`).join('');
}

const GAP = '  ';

const pad = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - columns(text)));

/** Rows with columns as wide as their widest cell. */
function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, index) => Math.max(...rows.map((row) => columns(row[index] ?? ''))));
  return rows.map((row) =>
    row
      .map((cell, index) => pad(cell, widths[index] ?? 0))
      .join(GAP)
      .trimEnd(),
  );
}
