import type { AttributeValue } from '../instrumentation/schema/records';

/** The part of the OpenTelemetry API object that the program's copy of `@opentelemetry/api` puts on `globalThis`. */
interface HostApi {
  readonly trace?: { getTracer(name: string, version?: string): HostTracer };
}
interface HostTracer {
  startSpan(name: string, options?: { kind?: number; attributes?: Record<string, unknown> }): HostSpan;
}
interface HostSpan {
  spanContext(): { traceId: string; spanId: string };
  setAttributes(attributes: Record<string, unknown>): unknown;
  setStatus(status: { code: number }): unknown;
  end(): void;
}

/** A span in the program's own OpenTelemetry, which ours hang below. */
export interface LightSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Ends it; only the first call counts. */
  end(attributes?: Readonly<Record<string, AttributeValue>>, failed?: boolean): void;
}

/** All 1.x versions of the API share this key; reading it loads nothing and works for 1.9 and 1.10 alike. */
const API_KEY = Symbol.for('opentelemetry.js.api.1');
const CLIENT = 2;
const ERROR = 2;

/**
 * Starts a light span in the program's tracer provider, below the program's active span. `undefined` when the program
 * has registered none.
 */
export function startLightSpan(
  name: string,
  attributes: Readonly<Record<string, AttributeValue>> = {},
): LightSpan | undefined {
  const api = (globalThis as { [API_KEY]?: HostApi })[API_KEY];
  const span = api?.trace?.getTracer('reenact').startSpan(name, { kind: CLIENT, attributes: { ...attributes } });
  const context = span?.spanContext();
  if (span === undefined || context === undefined || /^0*$/.test(context.traceId)) return undefined;
  let ended = false;
  return {
    traceId: context.traceId,
    spanId: context.spanId,
    end(late, failed = false) {
      if (ended) return;
      ended = true;
      if (late !== undefined) span.setAttributes({ ...late });
      if (failed) span.setStatus({ code: ERROR });
      span.end();
    },
  };
}

/** The same in the form the recorder takes; `untracked` keeps the program's exporter out of the recording. */
export function hostSpans(untracked: <T>(fn: () => T) => T = (fn) => fn()): {
  start(name: string): LightSpan | undefined;
} {
  return {
    start: (name) => {
      const span = startLightSpan(name);
      if (span === undefined) return undefined;
      return { ...span, end: (attributes, failed) => untracked(() => span.end(attributes, failed)) };
    },
  };
}
