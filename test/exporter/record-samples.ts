import { randomBytes } from 'node:crypto';
import type { AnyRecord, CallIdentity, CallKind, ExchangeRecord } from '../../instrumentation/schema/records';

export const hex = (bytes: number): string => randomBytes(bytes).toString('hex');

/** A call identity with every optional field absent; `over` adds them. */
export function identity<K extends CallKind>(kind: K, over: Partial<CallIdentity> = {}): CallIdentity & { kind: K } {
  return {
    traceId: hex(16),
    spanId: hex(8),
    runId: 'run-1',
    processPath: '0',
    sessionId: 's1',
    scope: 'support',
    seqStart: 4,
    seqEnd: 9,
    startMs: 1764550000000.25,
    endMs: 1764550000123.0417,
    outcome: 'ok',
    name: `${kind} call`,
    ...over,
    kind,
  };
}

/** An exchange with a streamed answer. */
export function exchange(body: string | Buffer, over: Partial<ExchangeRecord> = {}): ExchangeRecord {
  return {
    ...identity('llm'),
    transport: 'undici',
    provider: 'openai-chat',
    request: {
      method: 'POST',
      url: 'https://api.example.com/v1/chat/completions',
      headers: [
        ['host', 'api.example.com'],
        ['Content-Type', 'application/json'],
        ['content-length', String(body.length)],
      ],
      body: Buffer.from(body as string),
    },
    response: {
      status: 200,
      statusText: 'OK',
      headers: [
        ['date', 'Tue, 01 Dec 2026 01:00:00 GMT'],
        ['Set-Cookie', 'a'],
        ['Set-Cookie', 'b'],
      ],
      headSeq: 5,
      headMs: 80.5,
      chunks: [
        { seq: 6, ms: 80.5, bytes: Buffer.from('data: {"a":"é') },
        { seq: 8, ms: 90.123, bytes: Buffer.from('🙂".}\n\n').subarray(0, 2) },
        { seq: 9, ms: 91.00000001, bytes: Buffer.from('🙂"}\n\n').subarray(2) },
      ],
      trailers: [],
    },
    ...over,
  };
}

/** One record of every kind and shape. */
export function samples(): AnyRecord[] {
  const traceId = hex(16);
  const spanId = hex(8);
  const processSpan = hex(8);
  const life = { traceId, runId: 'run-1', processPath: '0' };
  const session = { ...life, kind: 'session', spanId, sessionId: 's1', scope: 'support' } as const;
  return [
    {
      ...life,
      kind: 'process',
      spanId: processSpan,
      pid: 7,
      startMs: 1764550000000.5,
      argv: ['node', 'app.js', 'ü'.repeat(3000)],
      execArgv: [],
      cwd: '/srv',
      nodeVersion: 'v20.20.0',
      platform: 'linux',
      env: { TZ: 'UTC', SECRET: null },
      seed: 'ff00',
      formatVersion: '1',
      defaultSessionId: 's1',
    },
    { ...session, phase: 'start', startMs: 1, endMs: 1, seq: 1, agentVersion: '1.2' },
    exchange('{"model":"m","messages":[{"role":"user","content":"héllo"}]}'),
    exchange('{"model":"m","messages":[{"role":"user","content":"héllo"},{"role":"user","content":"hê"}]}', {
      attributes: { 'gen_ai.request.model': 'm', 'x.number': 0.1, 'x.int': 3, 'x.list': ['a', 'b'], 'x.true': true },
      ambient: ['d\ts1\t1:2', 'c\t\tx:AAAA'],
    }),
    exchange(Buffer.from([0xff, 0xfe, 0, 1]), {
      kind: 'http',
      outcome: 'cut',
      error: { name: 'Error', message: 'socket hang up', code: 'ECONNRESET' },
      attributes: { 'error.type': 'ECONNRESET' },
    }),
    withoutAnswer(
      exchange('', { kind: 'http', outcome: 'error', error: { name: 'TypeError', message: 'x'.repeat(5000) } }),
    ),
    { ...identity('tool', { agentId: 'a1', parentSpanId: hex(8), scope: 'n'.repeat(700) }), ...tool() },
    {
      ...identity('tool', { outcome: 'error' }),
      tool: 't',
      args: [],
      thrown: { $reenact: 'error', value: { name: 'E' } },
      synchronous: true,
      replay: 'run',
    },
    { ...identity('observation', { sessionId: '' }), key: 'db:row', value: null, synchronous: false },
    { ...identity('observation'), key: 'f', args: [1, '\ud800'], thrown: 'no', synchronous: true },
    {
      ...identity('decision', { name: 'lone \ud800 surrogate' }),
      decision: 'refund',
      data: { __proto__: null, a: [1e300, -5] },
    },
    {
      ...session,
      phase: 'end',
      parentSpanId: hex(8),
      startMs: 1,
      endMs: 99,
      seq: 30,
      outcome: 'escalated',
      failure: 'late',
      metadata: { score: 0.5 },
      ambient: ['t\t\tx'],
    },
    {
      ...life,
      kind: 'exit',
      spanId: processSpan,
      endMs: 1764550009999,
      exitCode: 3,
      seq: 40,
      stdout: { sha256: 'ab', bytes: 12 },
      calls: 9,
      failures: { sink: 1 },
      ambient: ['p\t\t0:0', `c\t\t${'x'.repeat(3000)}`],
    },
  ];
}

function tool() {
  return {
    tool: 'get_order',
    args: { id: 'ö'.repeat(4001) },
    result: { a: null },
    synchronous: false,
    replay: 'substitute',
  } as const;
}

/** The same exchange when no answer came. */
export function withoutAnswer(record: ExchangeRecord): ExchangeRecord {
  const fields = Object.entries(record).filter(([field]) => field !== 'response' && field !== 'provider');
  return Object.fromEntries(fields) as unknown as ExchangeRecord;
}
