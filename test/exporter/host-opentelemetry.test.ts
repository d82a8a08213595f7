import {
  context,
  ROOT_CONTEXT,
  trace,
  type Context,
  type ContextManager,
  type Span,
  type Tracer,
} from '@opentelemetry/api';
import { hostSpans, startLightSpan } from '../../exporter/host-opentelemetry';

interface Started {
  name: string;
  parent: string | undefined;
  attributes: Record<string, unknown>;
  status?: unknown;
  ends: number;
}

/** A provider registered through the real API, as an SDK does. */
function register(started: Started[]): void {
  let active: Context | undefined;
  const manager: ContextManager = {
    active: () => active ?? ROOT_CONTEXT,
    with: (next, fn, self, ...args) => {
      const before = active;
      active = next;
      try {
        return fn.call(self as never, ...args);
      } finally {
        active = before;
      }
    },
    bind: (_context, target) => target,
    enable: () => manager,
    disable: () => manager,
  };
  context.setGlobalContextManager(manager);
  const tracer = {
    startSpan(name: string, options: { attributes?: Record<string, unknown> }) {
      const entry: Started = {
        name,
        parent: trace.getSpanContext(context.active())?.spanId,
        attributes: { ...options.attributes },
        ends: 0,
      };
      started.push(entry);
      return {
        spanContext: () => ({
          traceId: 'a'.repeat(32),
          spanId: String(started.length).padStart(16, '0'),
          traceFlags: 1,
        }),
        setAttributes: (attributes: Record<string, unknown>) => Object.assign(entry.attributes, attributes),
        setStatus: (status: unknown) => (entry.status = status),
        end: () => (entry.ends += 1),
      } as unknown as Span;
    },
  } as unknown as Tracer;
  trace.setGlobalTracerProvider({ getTracer: () => tracer });
}

afterEach(() => {
  trace.disable();
  context.disable();
});

test('gives nothing when the program has no provider', () => {
  expect(startLightSpan('chat m')).toBeUndefined();
});

test('starts below the active span of the program, and ends once', () => {
  const started: Started[] = [];
  register(started);
  const parent = trace.wrapSpanContext({ traceId: 'b'.repeat(32), spanId: 'c'.repeat(16), traceFlags: 1 });
  const span = context.with(trace.setSpan(context.active(), parent), () => hostSpans().start('POST /v1'));
  expect(span?.traceId).toBe('a'.repeat(32));
  span?.end({ 'gen_ai.request.model': 'm' }, true);
  span?.end();
  expect(started).toEqual([
    {
      name: 'POST /v1',
      parent: 'c'.repeat(16),
      attributes: { 'gen_ai.request.model': 'm' },
      status: { code: 2 },
      ends: 1,
    },
  ]);
});
