import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { ResourceSpan } from '../../exporter/otlp';
import { decodeRuns } from '../../exporter/span-decoder';
import { ReenactError } from '../../instrumentation/schema/errors';
import { ATTRIBUTES } from '../../instrumentation/schema/attributes';
import type { Recording } from '../../instrumentation/schema/records';
import { readLines } from '../log/json-lines';
import { formatOf, readBareMessage, readFrames } from './framed-file';
import { readTraceDocument } from './trace-document';
import { selectRuns, startOf, type SourceQuery, type TraceSource } from './trace-source';

/** Files of a folder that are read, as the Collector's file and S3 exporters name and rotate them. */
const FILES = /\.(jsonl|json|ndjson|proto|pb|binpb)(\.gz|\.zstd?)?$/;

/** What the Collector's file and S3 exporters and ours write, and what other tools download: a file or a folder. */
export function otlpFileSource(path: string): TraceSource {
  const read = (): Promise<Recording[]> => readRuns(path);
  return {
    id: 'otlp',
    name: `otlp=${path}`,
    origin: 'file',
    async *list(query: SourceQuery = {}) {
      for (const recording of await read()) {
        const start = startOf(recording);
        if (start >= (query.since ?? -Infinity) && start <= (query.until ?? Infinity)) yield recording;
      }
    },
    fetch: async (ref) => selectRuns(await read(), ref),
  };
}

async function readRuns(path: string): Promise<Recording[]> {
  const spans: ResourceSpan[] = [];
  for (const file of filesOf(path)) {
    for await (const found of readSpans(file)) spans.push(...found);
  }
  return decodeRuns(spans)
    .filter((recording) => recording.calls.length > 0)
    .sort((a, b) => startOf(a) - startOf(b));
}

/** The files that hold spans, oldest name first. @throws ReenactError FILE_NOT_FOUND */
function filesOf(path: string): string[] {
  try {
    if (!statSync(path).isDirectory()) return [path];
    return readdirSync(path, { recursive: true, encoding: 'utf8' })
      .filter((name) => FILES.test(name))
      .sort()
      .map((name) => join(path, name))
      .filter((file) => statSync(file).isFile());
  } catch (cause) {
    throw new ReenactError('FILE_NOT_FOUND', `${path} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

/**
 * Spans of ours in a file of OTLP: JSON, one document a line or one over many lines, or length-prefixed messages.
 * @throws ReenactError LOG_INVALID, FILE_NOT_FOUND
 */
export async function* readSpans(path: string): AsyncGenerator<ResourceSpan[]> {
  const format = await formatOf(path);
  if (format === 'bare') yield (await readBareMessage(path)).filter(isOurs);
  if (format === 'bare') return;
  if (format === 'framed') {
    for await (const spans of readFrames(path)) yield spans.filter(isOurs);
    return;
  }
  const whole: string[] = [];
  for await (const { text, number } of readLines(path, 'LOG_INVALID')) {
    const parsed = whole.length === 0 ? parse(text) : undefined;
    if (parsed !== undefined) yield readTraceDocument(parsed).filter(isOurs);
    // A line that is no document by itself may be the first of a document that spreads over all lines.
    else if (number === 1 || whole.length > 0) whole.push(text);
    else if (!path.endsWith('.json')) throw damaged(path, number);
  }
  if (whole.length === 0) return;
  const document = parse(whole.join('\n'));
  if (document === undefined) throw damaged(path, 1);
  yield readTraceDocument(document).filter(isOurs);
}

function damaged(path: string, line: number): ReenactError {
  return new ReenactError('LOG_INVALID', `${path}:${line} is not OTLP JSON`, {
    hint: 'Give a file of OTLP JSON lines, as the Collector writes with `format: json`.',
  });
}

function isOurs({ span }: ResourceSpan): boolean {
  return span.attributes.some(({ key }) => key === ATTRIBUTES.kind);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The caller decides what a line that is not JSON means.
    return undefined;
  }
}
