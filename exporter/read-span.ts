import type { AttributeValue } from '../instrumentation/schema/records';
import type { OtlpSpan } from './otlp';
import type { RecordText } from './span-encoder';

/** A span of ours, its record text read and checked. */
export interface ReadSpan {
  readonly span: OtlpSpan;
  readonly kind: string;
  readonly attributes: ReadonlyMap<string, AttributeValue>;
  readonly text: RecordText;
  /** Full value of a searchable attribute. */
  search(key: string): string | undefined;
}

/** Reports what is missing or damaged. */
export type ReportGap = (span: { spanId: string; sessionId?: string | undefined }, message: string) => void;
