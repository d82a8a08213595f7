import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ReenactError } from '../instrumentation/schema/errors';
import type { Recording } from '../instrumentation/schema/records';
import { readFileLines } from './line-reader';
import type { ResourceSpan } from './otlp';
import { readOtlpJson } from './otlp-json';
import { decodeRuns, decodeSpans } from './span-decoder';
import { runFolder, runsFolder, SPOOL_END } from './store-paths';

/** One run of the local store, from the first line of each of its processes. */
export interface StoredRun {
  readonly runId: string;
  readonly startMs: number;
  /** Set when the run was a replay: the reference replayed. */
  readonly replayOf?: string;
  readonly files: readonly string[];
}

/** The runs of a store, oldest first; none when the store does not exist. @throws ReenactError STORE_UNREADABLE */
export function listRuns(store: string): StoredRun[] {
  const runs = readFolder(runsFolder(store)).flatMap((name): StoredRun[] => {
    const run = readHead(join(runsFolder(store), name));
    return run === undefined ? [] : [run];
  });
  return runs.sort((a, b) => a.startMs - b.startMs || (a.runId < b.runId ? -1 : 1));
}

/** The newest run that was not a replay. @throws ReenactError STORE_UNREADABLE */
export function latestRun(store: string): StoredRun | undefined {
  return listRuns(store)
    .filter((run) => run.replayOf === undefined)
    .at(-1);
}

/** Everything recorded of a run. @throws ReenactError REF_NOT_FOUND, STORE_UNREADABLE */
export async function readRun(store: string, runId: string): Promise<Recording> {
  const folder = runFolder(store, runId);
  const files = spoolFiles(folder);
  if (files.length === 0) throw new ReenactError('REF_NOT_FOUND', `no run ${runId} in ${store}`);
  const spans: ResourceSpan[] = [];
  const cut: string[] = [];
  for (const file of files) await readLines(file, (found) => spans.push(...found), cut);
  const recording = decodeSpans(spans);
  const gaps = cut.map((message) => ({ code: 'PAYLOAD_DAMAGED', message }));
  return gaps.length === 0 ? recording : { ...recording, gaps: [...recording.gaps, ...gaps] };
}

/** Spool files of a run's folder, in the order of their names. */
export function spoolFiles(folder: string): string[] {
  return readFolder(folder)
    .filter((name) => name.endsWith(SPOOL_END))
    .sort()
    .map((name) => join(folder, name));
}

function readFolder(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw new ReenactError('STORE_UNREADABLE', `${folder} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

/** Facts of a run from the first lines of its files: the process record is written first. */
function readHead(folder: string): StoredRun | undefined {
  const files = spoolFiles(folder);
  let run: StoredRun | undefined;
  for (const file of files) {
    const line = firstLine(file);
    const recording = line === undefined ? undefined : decodeRuns(readJson(line) ?? [])[0];
    const process = recording?.processes[0];
    const runId = recording?.runId ?? '';
    if (recording === undefined || runId === '') continue;
    const startMs = process?.startMs ?? statSync(file).mtimeMs;
    const replayOf = run?.replayOf ?? process?.replayOf;
    run = {
      runId,
      startMs: Math.min(startMs, run?.startMs ?? Infinity),
      ...(replayOf !== undefined && { replayOf }),
      files,
    };
  }
  return run;
}

/** The first line of a recording is a process record: far below this. */
const MAX_FIRST_LINE = 4 * 1024 * 1024;
const STEP = 64 * 1024;

function firstLine(file: string): string | undefined {
  const fd = openSync(file, 'r');
  try {
    const parts: Buffer[] = [];
    for (let at = 0; at < MAX_FIRST_LINE; at += STEP) {
      const part = Buffer.alloc(STEP);
      const length = readSync(fd, part, 0, STEP, at);
      const end = part.subarray(0, length).indexOf(10);
      parts.push(part.subarray(0, end < 0 ? length : end));
      if (end >= 0 || length < STEP) return Buffer.concat(parts).toString('utf8');
    }
    return undefined;
  } finally {
    closeSync(fd);
  }
}

function readJson(line: string): ResourceSpan[] | undefined {
  try {
    return readOtlpJson(JSON.parse(line) as unknown);
  } catch {
    // The caller names the line.
    return undefined;
  }
}

/** Hands the spans of each line to `take`; what cannot be read is described in `cut`. */
async function readLines(file: string, take: (spans: ResourceSpan[]) => void, cut: string[]): Promise<void> {
  for await (const { text, number } of readFileLines(file)) {
    if (text.trim() === '') continue;
    const spans = readJson(text);
    if (spans === undefined) cut.push(`${file}: line ${number} is cut or damaged (${text.length} characters)`);
    else take(spans);
  }
}
