import { setTimeout as sleep } from 'node:timers/promises';
import type { ResourceSpan } from '../../exporter/otlp';
import { decodeRuns } from '../../exporter/span-decoder';
import type { Recording } from '../../instrumentation/schema/records';
import { missingCalls } from './completeness';
import { selectRuns } from './trace-source';

export interface PollOptions {
  /** How long a trace that is still arriving is waited for. */
  readonly deadlineMs: number;
  /** Without a sign of the end: how long nothing new must arrive for the trace to count as all there is. */
  readonly settleMs: number;
  readonly pollMs: number;
}

/** What a backend holds now of the runs that a reference may name. */
export interface Found {
  readonly spans: ResourceSpan[];
  /** What the backend itself says, or what its limits make likely, should spans be missing. */
  readonly cause?: string;
}

/** Looks until the runs are whole, nothing new has arrived for a while, or the deadline has passed. */
export async function fetchArriving(
  ref: string,
  look: () => Promise<Found>,
  { deadlineMs, settleMs, pollMs }: PollOptions,
): Promise<Recording[]> {
  const deadline = Date.now() + deadlineMs;
  let seen = -1;
  let unchangedSince = 0;
  for (;;) {
    const { spans, cause } = await look();
    const runs = selectRuns(decodeRuns(spans), ref);
    if (runs.length > 0 && runs.every((run) => missingCalls(run).length === 0)) return runs;
    const now = Date.now();
    if (spans.length !== seen) unchangedSince = now;
    seen = spans.length;
    if (now >= deadline || now - unchangedSince >= settleMs) return runs.map((run) => nameMissing(run, cause));
    await sleep(pollMs);
  }
}

/** Names what is missing of a run as gaps of it. */
export function nameMissing(recording: Recording, cause?: string): Recording {
  const missing = missingCalls(recording);
  if (missing.length === 0) return recording;
  const because = cause === undefined ? '' : `; ${cause}`;
  const gaps = missing.map((message) => ({ code: 'SPANS_MISSING', message: `${message}${because}` }));
  return { ...recording, gaps: [...recording.gaps, ...gaps] };
}
