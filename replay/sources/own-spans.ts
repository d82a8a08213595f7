import type { ResourceSpan } from '../../exporter/otlp';
import { ATTRIBUTES } from '../../instrumentation/schema/attributes';

/** The text of an attribute of a span. */
export function attributeOf({ span }: ResourceSpan, key: string): string | undefined {
  return span.attributes.find((item) => item.key === key)?.value?.stringValue;
}

/** Those spans of a trace that belong to a recording. */
export function ownSpans(spans: readonly ResourceSpan[]): ResourceSpan[] {
  return spans.filter(({ span }) => span.attributes.some(({ key }) => key === ATTRIBUTES.kind));
}

/** The runs that the spans belong to. */
export function runIdsOf(spans: readonly ResourceSpan[]): Set<string> {
  return new Set(spans.map((span) => attributeOf(span, ATTRIBUTES.runId)).filter((id) => id !== undefined));
}
