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
  usage: '[--from SOURCE]',
  summary: 'list the recorded conversations',
  configure: (command) => {
    addSourceOption(command);
  },
  run: async (invocation) => {
    const source = parseSource(textOption(invocation, 'from') ?? 'local', storeOf(invocation));
    const rows = await listLogs(source);
    invocation.output.result(rows, rows.length === 0 ? 'Nothing is recorded here.\n' : table(rows));
    return 0;
  },
};

const HEAD = ['SESSION', 'STARTED', 'DURATION', 'TURNS', 'OUTCOME', 'VERSION', 'RUN'] as const;

function table(rows: readonly ListRow[]): string {
  const cells = rows.map((row) => [
    cut(oneLine(row.sessionId), 40),
    moment(row.startedAt),
    duration(row.durationMs),
    `${row.turns}${row.gaps > 0 ? ` (${row.gaps} gaps)` : ''}`,
    row.outcome ?? '-',
    cut(oneLine([row.agentVersion, row.promptVersion].filter(Boolean).join('/') || '-'), 24),
    row.runId ?? '-',
  ]);
  return formatTable([[...HEAD], ...cells]);
}

/** Rows with columns as wide as their widest cell. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, index) => Math.max(...rows.map((row) => columns(row[index] ?? ''))));
  return rows
    .map((row) =>
      row
        .map((cell, index) => cell + ' '.repeat((widths[index] ?? 0) - columns(cell)))
        .join('  ')
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('');
}
