import { IdSource } from '../../instrumentation/ids';

describe('ids', () => {
  it('have the form of W3C Trace Context, and do not repeat', () => {
    const ids = new IdSource();
    const spans = Array.from({ length: 5_000 }, () => ids.spanId());
    expect(spans.every((id) => /^(?!0{16})[0-9a-f]{16}$/.test(id))).toBe(true);
    expect(new Set(spans).size).toBe(5_000);
    expect(ids.traceId()).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
    expect(new IdSource().traceId()).not.toBe(new IdSource().traceId());
  });

  it('of runs sort by time', () => {
    const ids = new IdSource();
    expect(ids.runId(Date.UTC(2026, 11, 1, 9, 30, 5))).toMatch(/^20261201-093005-[0-9a-f]{8}$/);
  });
});
