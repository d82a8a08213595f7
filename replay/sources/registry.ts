import { ReenactError } from '../../instrumentation/schema/errors';
import { jaegerSource } from './jaeger';
import { clickhouseSource } from './clickhouse';
import { localSource } from './local';
import { otlpFileSource } from './otlp-file';
import { tempoSource } from './tempo';
import type { TraceSource } from './trace-source';

/** How `--from` names a kind of source, and what opens it. */
interface SourceKind {
  readonly id: string;
  readonly open: (value: string, store: string) => TraceSource;
}

/** Every place that recordings come from. A new one is one file, one line here and one fixture. */
export const sources = [
  { id: 'local', open: (value, store) => localSource(value || store) },
  { id: 'otlp', open: (value) => otlpFileSource(value) },
  { id: 'jaeger', open: (value) => jaegerSource(value) },
  { id: 'tempo', open: (value) => tempoSource(value) },
  { id: 'clickhouse', open: (value) => clickhouseSource(value) },
] as const satisfies readonly SourceKind[];

/**
 * Opens the source that `--from` names: `local`, `otlp=FILE`, `jaeger=URL`, `tempo=URL`, `clickhouse=URL`.
 * @throws ReenactError UNKNOWN_SOURCE
 */
export function parseSource(text: string, store: string): TraceSource {
  const equals = text.indexOf('=');
  const id = equals < 0 ? text : text.slice(0, equals);
  const value = equals < 0 ? '' : text.slice(equals + 1);
  const kind = sources.find((candidate) => candidate.id === id);
  if (kind === undefined) throw new ReenactError('UNKNOWN_SOURCE', `unknown source ${JSON.stringify(text)}`);
  if (kind.id !== 'local' && value === '')
    throw new ReenactError('UNKNOWN_SOURCE', `source ${id} needs a value: ${id}=…`);
  return kind.open(value, store);
}
