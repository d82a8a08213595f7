import type { Config } from '../instrumentation/config';
import { type OtlpRequest, type OtlpResource, type OtlpSpan, SCOPE } from './otlp';
import { loadOtlpProto, type OtlpProto } from './otlp-proto';

/** A span waiting to be sent. */
export interface WaitingSpan {
  readonly resource: OtlpResource;
  /** The span, or its JSON text: whichever the protocol needs, so that neither is made twice. */
  readonly span: OtlpSpan | string;
  /** Estimate of its encoded size. */
  readonly bytes: number;
  /** Offset of the end of its line in the spool; absent when it is only in memory. */
  readonly end?: number;
}

/** The JSON text before and after the spans of one resource. */
export function requestFrame(resource: OtlpResource): { head: string; tail: string } {
  return {
    head: `{"resourceSpans":[{"resource":${JSON.stringify(resource)},"scopeSpans":[{"scope":${JSON.stringify(SCOPE)},"spans":[`,
    tail: ']}]}]}',
  };
}

/**
 * Builds request bodies and reads answers in the configured protocol. Without one it is JSON, for the text of a span is
 * made anyway, and protobuf once a receiver has refused that.
 */
export class OtlpBodies {
  private proto: OtlpProto | undefined;
  private isJson: boolean;
  private readonly isGiven: boolean;

  constructor(protocol: Config['otlp']['protocol']) {
    this.isJson = protocol !== 'http/protobuf';
    this.isGiven = protocol !== undefined;
  }

  get contentType(): string {
    return this.isJson ? 'application/json' : 'application/x-protobuf';
  }

  /** The receiver takes no such content; true when there is another that may be tried. */
  refused(): boolean {
    if (this.isGiven || !this.isJson) return false;
    this.isJson = false;
    return true;
  }

  /** What of a span is kept until it is sent. */
  keep(span: OtlpSpan, text: string): OtlpSpan | string {
    return this.isJson ? text : span;
  }

  /** The body of one request. The spans share one resource. */
  build(spans: readonly WaitingSpan[]): Uint8Array {
    const resource = spans[0]?.resource ?? { attributes: [] };
    if (this.isJson) {
      const { head, tail } = requestFrame(resource);
      const texts = spans.map(({ span }) => (typeof span === 'string' ? span : JSON.stringify(span)));
      return Buffer.from(head + texts.join(',') + tail);
    }
    const parsed = spans.map(({ span }) => (typeof span === 'string' ? (JSON.parse(span) as OtlpSpan) : span));
    const request: OtlpRequest = { resourceSpans: [{ resource, scopeSpans: [{ scope: SCOPE, spans: parsed }] }] };
    return this.codec().encodeRequest(request);
  }

  /** Reads a partial success. @throws when the answer is not OTLP */
  answer(body: Buffer, contentType: string): { rejectedSpans: number; errorMessage: string } {
    if (body.length === 0) return { rejectedSpans: 0, errorMessage: '' };
    if (!contentType.includes('json')) return this.codec().decodeResponse(body);
    const { partialSuccess } = JSON.parse(body.toString('utf8')) as { partialSuccess?: Record<string, unknown> };
    return {
      rejectedSpans: Number(partialSuccess?.['rejectedSpans'] ?? 0),
      errorMessage: String(partialSuccess?.['errorMessage'] ?? ''),
    };
  }

  private codec(): OtlpProto {
    this.proto ??= loadOtlpProto();
    return this.proto;
  }
}
