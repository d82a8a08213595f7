// Counts what a recording opened and closed, from the spans as they lie in the store.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const CALLS = ['llm', 'tool', 'http'];

function attributesOf(span) {
  return Object.fromEntries(span.attributes.map(({ key, value }) => [key, value]));
}

/** Calls in all, those still open at the end, and scopes started and ended, of every run in a store. */
export function recordedCalls(store) {
  const counts = { total: 0, open: 0, started: 0, ended: 0 };
  if (!existsSync(join(store, 'runs'))) return counts;
  for (const file of readdirSync(join(store, 'runs'), { recursive: true })) {
    if (!file.endsWith('.otlp.jsonl')) continue;
    for (const line of readFileSync(join(store, 'runs', file), 'utf8')
      .trim()
      .split('\n'))
      for (const { scopeSpans } of JSON.parse(line).resourceSpans)
        for (const { spans } of scopeSpans) for (const span of spans) count(span, counts);
  }
  return counts;
}

function count(span, counts) {
  const attributes = attributesOf(span);
  const record = attributes['reenact.record']?.arrayValue?.values.map(({ stringValue }) => stringValue).join('');
  const phase = record === undefined ? undefined : JSON.parse(record).ph;
  if (phase === 'start') counts.started += 1;
  if (phase === 'end') counts.ended += 1;
  if (!CALLS.includes(attributes['reenact.kind']?.stringValue)) return;
  counts.total += 1;
  const outcome = attributes['reenact.outcome']?.stringValue ?? 'open';
  if (outcome === 'open') counts.open += 1;
}
