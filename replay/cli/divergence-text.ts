import type { Divergence, ReplayDocument } from '../player/report';
import { cut, oneLine, wrap, harmless } from './terminal-text';
import type { Palette } from './terminal-text';

/** Divergences that are explained one by one. */
const MAX_EXPLAINED = 10;

const WIDTH = 80;

/** The divergences of a replay for people, the first one first; '' when there are none. */
export function explainDivergences(document: ReplayDocument, palette: Palette): string {
  const shown = document.divergences.slice(0, MAX_EXPLAINED);
  const rest = document.divergences.length - shown.length;
  const parts = shown.map((divergence) => explain(divergence, palette));
  if (rest > 0) parts.push(palette.dim(`and ${rest} more; --json or --report FILE has them all`));
  for (const note of document.notes ?? []) parts.push(wrap(harmless(`note: ${note}`), WIDTH).join('\n'));
  return parts.length === 0 ? '' : `${parts.join('\n')}\n`;
}

const WORDS: Readonly<Record<Divergence['kind'], string>> = {
  diverged: 'diverged',
  relaxed: 'answered by the recording of another question',
  live: 'went live',
  unused: 'not asked',
  blocked: 'blocked',
};

function explain(divergence: Divergence, palette: Palette): string {
  const colour = divergence.kind === 'diverged' || divergence.kind === 'blocked' ? palette.red : palette.yellow;
  const where = divergence.turn === null ? '' : `turn ${divergence.turn}: `;
  const head = `${colour(`${where}${oneLine(divergence.name)}`)} ${WORDS[divergence.kind] ?? oneLine(String(divergence.kind))}`;
  if (divergence.kind === 'unused') return `${head}\n${line('cause', divergence.cause)}`;
  return [
    head,
    ...(divergence.path === '' && divergence.expected == null && divergence.actual == null
      ? []
      : [
          line('at', `${divergence.path || '/'} (rule: ${divergence.rule})`),
          ...(divergence.expected === null ? [] : [line('expected', short(divergence.expected))]),
          line('actual', short(divergence.actual)),
        ]),
    ...(divergence.nearest === null ? [] : [line('nearest', divergence.nearest)]),
    line('cause', divergence.cause),
    line('do', divergence.hint),
    ...(divergence.kind === 'blocked' && divergence.stack ? [line('stack', firstFrames(divergence.stack))] : []),
  ].join('\n');
}

function line(label: string, text: string): string {
  const lines = wrap(harmless(text), WIDTH - 12);
  return lines.map((part, index) => `  ${(index === 0 ? label : '').padEnd(9)} ${part}`.trimEnd()).join('\n');
}

function short(value: unknown): string {
  if (value === undefined) return '(nothing)';
  return cut(oneLine(JSON.stringify(value) ?? String(value)), 240);
}

/** Frames of the program; a line beginning with `at` would read as a stack trace of ours. */
function firstFrames(stack: string): string {
  return stack
    .split('\n')
    .filter((frame) => frame.trimStart().startsWith('at '))
    .slice(0, 3)
    .map((frame) => frame.trim().slice(3))
    .join(' ← ');
}
