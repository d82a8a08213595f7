import { diffLines, diffWordsWithSpace } from 'diff';
import { ReenactError } from '../../../instrumentation/schema/errors';
import type { ExecutionLog } from '../../../instrumentation/schema/execution-log';
import { diffLogs } from '../../analysis/diff';
import type { LogDiff, TurnDiff } from '../../analysis/diff';
import type { JsonChange } from '../../analysis/json-changes';
import type { CommandDefinition } from '../command';
import { required } from '../command';
import { addSourceOption, resolveOne } from '../source-options';
import { cut, harmless, oneLine } from '../terminal-text';
import type { Palette } from '../terminal-text';

/** Changes of one turn that are printed; the document has all. */
const MAX_PRINTED = 12;

/** Longest text that is compared word by word; beyond it lines are compared. */
const MAX_WORDWISE = 4_000;

/** `reenact diff REF REF`: what differs between two conversations. Exit 0 when equal, else 1. */
export const diff: CommandDefinition = {
  name: 'diff',
  usage: 'REF REF [--from SOURCE]',
  summary: 'compare two conversations',
  configure: (command) => {
    addSourceOption(command.argument('<a>').argument('<b>'));
  },
  run: async (invocation) => {
    const a = await resolveOne(invocation, required(invocation, 0));
    const b = await resolveOne(invocation, required(invocation, 1));
    if (a.turns.length + b.turns.length === 0) throw new ReenactError('NOTHING_COMPARED', 'neither log has a turn');
    const document = diffLogs(a, b);
    invocation.output.result(document, render({ document, a, b }, invocation.output.palette));
    return document.equal ? 0 : 1;
  },
};

interface Compared {
  readonly document: LogDiff;
  readonly a: ExecutionLog;
  readonly b: ExecutionLog;
}

function render({ document, a, b }: Compared, palette: Palette): string {
  const facts = document.log.map((change) => `${change.path.slice(1)}: ${value(change.a)} → ${value(change.b)}`);
  const rows = document.turns.map((turn) => renderTurn(turn, { a, b, palette }));
  const differing = document.turns.filter((turn) => turn.kind !== 'same').length;
  const end = document.equal
    ? palette.green(`equal: ${document.turns.length} turns`)
    : palette.yellow(`${differing} of ${document.turns.length} turns differ`);
  return `${[...facts, ...rows, end].join('\n')}\n`;
}

const MARKS: Readonly<Record<TurnDiff['kind'], string>> = {
  same: ' ',
  changed: '~',
  inserted: '+',
  dropped: '-',
  moved: '>',
};

function renderTurn(turn: TurnDiff, sides: { a: ExecutionLog; b: ExecutionLog; palette: Palette }): string {
  const { palette } = sides;
  const shown = turn.a === null ? sides.b.turns[(turn.b ?? 1) - 1] : sides.a.turns[turn.a - 1];
  const name =
    shown?.type === 'tool_call'
      ? `tool ${String(shown.request['name'])}`
      : `llm ${String(shown?.request['model'] ?? '')}`;
  const numbers = `${String(turn.a ?? '·').padStart(3)} ${String(turn.b ?? '·').padStart(3)}`;
  const style = {
    same: palette.dim,
    changed: palette.yellow,
    inserted: palette.green,
    dropped: palette.red,
    moved: palette.cyan,
  };
  const head = style[turn.kind](`${MARKS[turn.kind]} ${numbers}  ${turn.kind.padEnd(8)} ${cut(oneLine(name), 50)}`);
  const lines = turn.changes.slice(0, MAX_PRINTED).map((change) => renderChange(change, palette));
  if (turn.changes.length > MAX_PRINTED)
    lines.push(palette.dim(`            and ${turn.changes.length - MAX_PRINTED} more places`));
  return [head, ...lines].join('\n');
}

function renderChange(change: JsonChange, palette: Palette): string {
  const path = palette.bold(oneLine(change.path || '/'));
  if (typeof change.a === 'string' && typeof change.b === 'string' && change.a.length + change.b.length > 60)
    return `            ${path}\n${renderTextDiff(change.a, change.b, palette)}`;
  return `            ${path}: ${palette.red(value(change.a))} → ${palette.green(value(change.b))}`;
}

/** Only what changed, with a little around it: two prompts of many pages may differ in one word. */
function renderTextDiff(a: string, b: string, palette: Palette): string {
  const long = a.length + b.length > MAX_WORDWISE;
  const parts = long ? diffLines(a, b) : diffWordsWithSpace(a, b);
  const text = parts
    .map((part) => {
      const plain = harmless(part.value);
      if (part.removed) return palette.red(`[-${plain}-]`);
      if (part.added) return palette.green(`{+${plain}+}`);
      return plain.length > 80 ? `${plain.slice(0, 30)} … ${plain.slice(-30)}` : plain;
    })
    .join('');
  return text
    .split('\n')
    .slice(0, 40)
    .map((line) => `              ${line}`)
    .join('\n');
}

function value(item: unknown): string {
  return item === undefined ? '(absent)' : cut(oneLine(JSON.stringify(item) ?? ''), 100);
}
