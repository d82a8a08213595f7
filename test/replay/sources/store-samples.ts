import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../../instrumentation/config';
import { createSink } from '../../../exporter/sink';
import type { SampleRun } from '../log/sample-run';

/** A new, empty folder for a local store. */
export function emptyStore(): string {
  return join(mkdtempSync(join(tmpdir(), 'reenact-store-')), '.reenact');
}

/** Writes runs into a local store with the sink that recorded processes use. */
export function writeStore(store: string, ...runs: SampleRun[]): string {
  for (const run of runs) {
    const sink = createSink(readConfig({ REENACT_DIR: store }, '/'), { failed: fail });
    for (const record of run.records()) sink.write(record);
    sink.flushSync();
  }
  return store;
}

function fail(place: string, error: unknown): never {
  throw new Error(`the sink failed at ${place}`, { cause: error });
}
