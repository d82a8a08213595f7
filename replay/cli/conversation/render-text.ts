import type { ExecutionTurn } from '../../../instrumentation/schema/execution-log';
import { columns, cut, harmless, oneLine, wrap } from '../terminal-text';
import type { Palette } from '../terminal-text';
import type { ShownMessage } from './messages';
import type { ConversationView, Entry } from './view';
import { duration, moment, plural } from './words';

export interface RenderOptions {
  readonly palette: Palette;
  /** Columns; 80 when nothing else is known. */
  readonly width: number;
  /** Lines of one text before it is cut; Infinity for all. */
  readonly maxLines: number;
}

const LABEL = 11;
const INDENT = 4;

/** Longest JSON on one line; longer values are indented. */
const ONE_LINE = 64;

/** The conversation for a terminal. */
export function renderText(view: ConversationView, options: RenderOptions): string {
  const renderer = new TextRenderer(options);
  renderer.header(view);
  for (const entry of view.entries) renderer.entry(entry);
  renderer.footer(view);
  return `${renderer.lines.join('\n')}\n`;
}

class TextRenderer {
  readonly lines: string[] = [];

  constructor(private readonly options: RenderOptions) {}

  header({ log }: ConversationView): void {
    const { bold, dim } = this.options.palette;
    const llm = log.turns.filter((turn) => turn.type === 'llm_call').length;
    const tools = log.turns.length - llm;
    this.lines.push(bold(this.fit(`Session ${log.sessionId}`)));
    const facts = [
      moment(log.startedAt),
      ...(log.durationMs === undefined ? [] : [duration(log.durationMs)]),
      `${plural(log.turns.length, 'turn')} (${llm} LLM, ${plural(tools, 'tool')})`,
      ...(log.outcome === undefined ? [] : [log.outcome]),
    ];
    this.lines.push(this.fit(facts.join(' · ')));
    const origin = [
      ...(log.agentId ? [`agent ${log.agentId}`] : []),
      ...(log.agentVersion ? [`version ${log.agentVersion}`] : []),
      ...(log.promptVersion ? [`prompt ${log.promptVersion}`] : []),
      ...(log.runId ? [`run ${log.runId}`] : []),
      ...(log.replayOf ? [`replay of ${log.replayOf}`] : []),
    ];
    if (origin.length > 0) this.lines.push(dim(this.fit(origin.join(' · '))));
    const failure = log.metadata?.['failure'];
    if (failure !== undefined) this.block('marked as', `failed: ${String(failure)}`, this.options.palette.red);
  }

  entry(entry: Entry): void {
    if (entry.kind === 'note') {
      this.block('', `${entry.label}: ${compact(entry.value)}`, this.options.palette.dim);
      return;
    }
    this.lines.push('', this.title(entry));
    if (entry.kind === 'tool') this.toolTurn(entry.turn);
    else this.llmTurn(entry);
  }

  private title(entry: Exclude<Entry, { kind: 'note' }>): string {
    const { turn } = entry;
    const isTool = entry.kind === 'tool';
    const name = isTool ? String(turn.request['name'] ?? '?') : entry.model || turn.provider || 'llm';
    const facts = [
      duration(turn.durationMs),
      ...(!isTool && entry.tokens ? [`${entry.tokens.input} → ${entry.tokens.output} tokens`] : []),
      ...(!isTool && (turn.spanIds?.length ?? 0) > 1 ? [plural(turn.spanIds?.length ?? 0, 'attempt')] : []),
      ...(turn.status !== undefined && turn.status >= 400 ? [`status ${turn.status}`] : []),
      ...(turn.outcome !== undefined && turn.outcome !== 'ok' ? [turn.outcome] : []),
      ...(turn.inferred ? ['inferred from the messages'] : []),
      ...(turn.agentId ? [turn.agentId] : []),
    ];
    const head = `${String(entry.number).padStart(2)}  ${isTool ? 'tool' : 'llm '}  `;
    const tail = ` · ${oneLine(facts.join(' · '))}`;
    const room = Math.max(10, this.options.width - columns(head) - columns(tail));
    const { bold, cyan, yellow, dim } = this.options.palette;
    return head + bold((isTool ? yellow : cyan)(cut(oneLine(name), room))) + dim(tail);
  }

  private llmTurn(entry: Extract<Entry, { kind: 'llm' }>): void {
    const { dim } = this.options.palette;
    if (entry.repeated > 0)
      this.lines.push(`${' '.repeat(INDENT)}${dim(`(${plural(entry.repeated, 'message')} as before)`)}`);
    for (const message of entry.newMessages) this.message(message, '');
    for (const [index, answer] of entry.answers.entries())
      this.message(answer, entry.answers.length > 1 ? ` ${index + 1}` : '');
    this.failure(entry.turn, entry.answers.length === 0);
  }

  private toolTurn(turn: ExecutionTurn): void {
    this.block('arguments', compact(turn.request['args']));
    if (turn.response['error'] !== undefined) {
      const error = turn.response['error'] as { name?: unknown; message?: unknown; code?: unknown };
      const code = error?.code === undefined ? '' : ` [${String(error.code)}]`;
      this.block('error', `${String(error?.name)}: ${String(error?.message)}${code}`, this.options.palette.red);
    } else this.block('result', compact(turn.response['result']));
  }

  private message(message: ShownMessage, suffix: string): void {
    const { dim, yellow } = this.options.palette;
    const label = `${message.role}${suffix}`;
    if (message.reasoning !== '') this.block(label, `(thinking) ${message.reasoning}`, dim);
    if (message.text !== '') this.block(message.reasoning === '' ? label : '', message.text);
    let first = message.reasoning === '' && message.text === '';
    const next = (): string => {
      const shown = first ? label : '';
      first = false;
      return shown;
    };
    for (const result of message.toolResults)
      this.block(next(), `← ${result.turn === undefined ? compact(result.content) : `result of turn ${result.turn}`}`);
    for (const call of message.toolCalls) this.block(next(), `→ ${call.name} ${compact(call.args)}`, yellow);
    for (const part of message.otherParts) this.block(next(), `[${part}]`, dim);
    if (first) this.block(label, '(empty)', dim);
  }

  private failure(turn: ExecutionTurn, nothingShown: boolean): void {
    const { red } = this.options.palette;
    if (turn.error !== undefined) {
      const code = turn.error.code === undefined ? '' : ` [${turn.error.code}]`;
      this.block('error', `${turn.error.name}: ${turn.error.message}${code}`, red);
    } else if (nothingShown) this.block('answer', compact(turn.response), turn.outcome === 'ok' ? undefined : red);
  }

  footer({ log }: ConversationView): void {
    const { yellow } = this.options.palette;
    if (!log.gaps?.length) return;
    this.lines.push('', yellow(`${plural(log.gaps.length, 'gap')} in the recording`));
    for (const gap of log.gaps.slice(0, 20)) this.block('', `${gap.code}: ${gap.message}`);
    if (log.gaps.length > 20) this.block('', `and ${log.gaps.length - 20} more`);
  }

  /** A label on the left, a wrapped text on the right. */
  private block(label: string, text: string, style: (text: string) => string = (plain) => plain): void {
    const { width, maxLines, palette } = this.options;
    const all = wrap(harmless(text), Math.max(20, width - INDENT - LABEL));
    const shown = all.length > maxLines ? all.slice(0, maxLines - 1) : all;
    const name = cut(oneLine(label), LABEL - 1);
    const padded = name + ' '.repeat(Math.max(0, LABEL - columns(name)));
    for (const [index, line] of shown.entries()) {
      const left = ' '.repeat(INDENT) + (index === 0 ? palette.bold(padded) : ' '.repeat(LABEL));
      this.lines.push((left + style(line)).trimEnd());
    }
    if (shown.length < all.length) {
      const rest = plural(all.length - shown.length, 'more line');
      this.lines.push(' '.repeat(INDENT + LABEL) + palette.dim(`… ${rest} (--turn N shows all)`));
    }
  }

  private fit(text: string): string {
    return cut(oneLine(text), this.options.width);
  }
}

/** A value on as few lines as can be read: text as it is, else JSON, indented when it is long. */
export function compact(value: unknown): string {
  if (typeof value === 'string') return value;
  const line = JSON.stringify(value) ?? 'undefined';
  return line.length <= ONE_LINE ? line : (JSON.stringify(value, null, 2) ?? line);
}
