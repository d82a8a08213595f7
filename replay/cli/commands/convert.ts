import { resolve } from 'node:path';
import { ReenactError } from '../../../instrumentation/schema/errors';
import type { ExecutionLog } from '../../../instrumentation/schema/execution-log';
import { replaceFile } from '../../log/atomic-file';
import { logsToEvents, readEvents } from '../../log/events';
import { eventsToLogs } from '../../log/events-to-logs';
import { readLines } from '../../log/json-lines';
import { buildLogs } from '../../log/build-log';
import { readLogs, writeLogs } from '../../log/log-file';
import { recordingOf } from '../../log/recording-of-log';
import { otlpFileSource } from '../../sources/otlp-file';
import type { CommandDefinition } from '../command';
import { required } from '../command';
import { renderHtml } from '../conversation/render-html';
import { renderMarkdown } from '../conversation/render-markdown';
import { viewConversation } from '../conversation/view';
import { plural } from '../conversation/words';
import { otlpLines } from '../otlp-lines';

type Format = 'events' | 'otlp' | 'md' | 'html' | 'logs';

/** `reenact convert IN OUT`: IN is known by its content, OUT by its name. */
export const convert: CommandDefinition = {
  name: 'convert',
  usage: 'IN OUT',
  summary: 'turn logs, structured events and OTLP files into one another, or into a page to read',
  configure: (command) => {
    command.argument('<in>').argument('<out>').option('--force', 'overwrite whatever file is there');
  },
  run: async (invocation) => {
    const [input, target] = [required(invocation, 0), required(invocation, 1)];
    // Both names are checked before either file is opened.
    const format = formatOf(target);
    const logs = await readAny(resolve(invocation.cwd, input));
    if (logs.length === 0) throw new ReenactError('LOG_EMPTY', `${input} holds no log`);
    await write(resolve(invocation.cwd, target), {
      format,
      logs,
      replace: invocation.options['force'] === true,
    });
    invocation.output.result(
      { in: input, out: target, logs: logs.length },
      `${input} → ${target}: ${plural(logs.length, 'log')}\n`,
    );
    return 0;
  },
};

/** @throws ReenactError UNKNOWN_FORMAT */
function formatOf(name: string): Format {
  const plain = name.replace(/\.gz$/, '');
  if (plain.endsWith('.events.jsonl')) return 'events';
  if (plain.endsWith('.otlp.jsonl')) return 'otlp';
  if (plain.endsWith('.md')) return 'md';
  if (plain.endsWith('.html')) return 'html';
  if (plain.endsWith('.jsonl')) return 'logs';
  throw new ReenactError('UNKNOWN_FORMAT', `${name} does not say a format`);
}

async function readAny(path: string): Promise<ExecutionLog[]> {
  const first = await firstLine(path);
  if (first !== undefined && 'event_type' in first) return eventsToLogs(readEvents(path));
  if (
    first !== undefined &&
    ['resourceSpans', 'resource_spans', 'result', 'trace', 'batches'].some((key) => key in first)
  ) {
    const logs: ExecutionLog[] = [];
    for await (const recording of otlpFileSource(path).list()) logs.push(...buildLogs(recording));
    return logs;
  }
  return readLogs(path);
}

/** The first line when it is a JSON object. */
async function firstLine(path: string): Promise<object | undefined> {
  for await (const { text } of readLines(path, 'LOG_INVALID')) {
    try {
      const value = JSON.parse(text) as unknown;
      return typeof value === 'object' && value !== null ? value : undefined;
    } catch {
      // The reader of logs names the line and what is wrong with it.
      return undefined;
    }
  }
  return undefined;
}

interface WriteOptions {
  readonly format: Format;
  readonly logs: ExecutionLog[];
  readonly replace: boolean;
}

async function write(path: string, { format, logs, replace }: WriteOptions): Promise<void> {
  if (format === 'logs') return writeLogs(path, logs, { replace });
  return replaceFile(path, pieces(format, logs), { replace });
}

async function* pieces(format: Exclude<Format, 'logs'>, logs: readonly ExecutionLog[]): AsyncGenerator<string> {
  if (format === 'md') yield renderMarkdown(logs.map((log) => viewConversation(log)));
  else if (format === 'html') yield renderHtml(logs.map((log) => viewConversation(log)));
  else if (format === 'events') for (const event of logsToEvents(logs)) yield `${JSON.stringify(event)}\n`;
  else for (const log of logs) for (const line of otlpLines(recordingOf(log))) yield `${line}\n`;
}
