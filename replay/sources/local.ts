import { closeSync, openSync, readSync } from 'node:fs';
import { listRuns, readRun, type StoredRun } from '../../exporter/local-store';
import type { Recording } from '../../instrumentation/schema/records';
import { holdsRef, type SourceQuery, type TraceSource } from './trace-source';

/** The local store of recordings. */
export function localSource(store: string): TraceSource {
  return {
    id: 'local',
    name: 'local',
    origin: 'store',
    async *list(query: SourceQuery = {}) {
      for (const run of listRuns(store)) {
        if (run.startMs < (query.since ?? -Infinity) || run.startMs > (query.until ?? Infinity)) continue;
        yield await readRun(store, run.runId);
      }
    },
    fetch: (ref) => fetchLocal(store, ref),
  };
}

async function fetchLocal(store: string, ref: string): Promise<Recording[]> {
  const runs = listRuns(store);
  if (ref === 'last') return lastWithCalls(store, runs);
  const named = runs.find((run) => run.runId === ref);
  if (named !== undefined) return [await readRun(store, named.runId)];
  const found: Recording[] = [];
  for (const run of runs) {
    if (!run.files.some((file) => mentions(file, ref))) continue;
    const recording = await readRun(store, run.runId);
    if (holdsRef(recording, ref)) found.push(recording);
  }
  return found;
}

/** A program that made no call is not what `last` means; the run before it is. */
async function lastWithCalls(store: string, runs: readonly StoredRun[]): Promise<Recording[]> {
  for (const run of [...runs].reverse()) {
    if (run.replayOf !== undefined) continue;
    const recording = await readRun(store, run.runId);
    if (recording.calls.length > 0) return [recording];
  }
  return [];
}

/** Longest part of an id that is looked for; the store cuts what it makes searchable. */
const NEEDLE = 100;
const STEP = 1024 * 1024;

/** Whether a file holds the text at all: much cheaper than decoding each run of a large store. */
function mentions(file: string, ref: string): boolean {
  const needle = Buffer.from(JSON.stringify(ref.slice(0, NEEDLE)).slice(1, -1), 'utf8');
  const fd = openSync(file, 'r');
  try {
    const block = Buffer.alloc(STEP + needle.length);
    let kept = 0;
    for (;;) {
      const read = readSync(fd, block, kept, STEP, null);
      if (read === 0) return false;
      const end = kept + read;
      if (block.subarray(0, end).includes(needle)) return true;
      kept = Math.min(needle.length - 1, end);
      block.copyWithin(0, end - kept, end);
    }
  } finally {
    closeSync(fd);
  }
}
