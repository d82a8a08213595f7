import { createHash } from 'node:crypto';
import type {
  AnyRecord,
  CallRecord,
  DecisionRecord,
  ExchangeRecord,
  HeaderList,
  ObservationRecord,
  ProcessExitRecord,
  ProcessRecord,
  Recording,
  SessionRecord,
  ToolRecord,
} from '../../../instrumentation/schema/records';

const T0 = Date.UTC(2026, 0, 2, 3, 4, 5);

/** Writes a run by hand, one record after the other, as a recorded process would. */
export class SampleRun {
  readonly calls: CallRecord[] = [];
  readonly sessions: SessionRecord[] = [];
  readonly ambient: { processPath: string; sessionId: string; lines: string[] }[] = [];
  readonly processes: ProcessRecord[] = [];
  readonly exits: ProcessExitRecord[] = [];
  private seq = 0;
  private ms = T0;

  constructor(
    readonly runId = 'run-1',
    readonly defaultSessionId = 'default-session',
  ) {
    this.addProcess('0');
  }

  addProcess(processPath: string, over: Partial<ProcessRecord> = {}): void {
    this.processes.push({
      kind: 'process',
      traceId: id('trace of process', this.runId, processPath).padEnd(32, '0'),
      spanId: id('process', this.runId, processPath),
      runId: this.runId,
      processPath,
      pid: 42,
      startMs: T0 + this.processes.length,
      argv: ['node', 'agent.js'],
      execArgv: [],
      cwd: '/srv/agent',
      nodeVersion: 'v20.20.0',
      platform: 'linux',
      env: { TZ: 'UTC', OPENAI_API_KEY: null },
      formatVersion: '1',
      defaultSessionId: this.defaultSessionId,
      ...over,
    });
  }

  private identity(over: Place) {
    const sessionId = over.sessionId ?? this.defaultSessionId;
    const startMs = (this.ms += 10);
    return {
      traceId: id('trace', this.runId, sessionId).padEnd(32, '0'),
      spanId: id('span', this.runId, String(this.seq)),
      runId: this.runId,
      processPath: '0',
      sessionId,
      scope: sessionId === this.defaultSessionId ? '' : `s:${encodeURIComponent(sessionId)}`,
      seqStart: ++this.seq,
      seqEnd: ++this.seq,
      startMs,
      endMs: startMs + 5,
      outcome: 'ok' as const,
      name: 'call',
      ...over,
    };
  }

  exchange(request: unknown, response: unknown, over: ExchangeOver = {}): ExchangeRecord {
    const { status = 200, requestHeaders = [], responseHeaders = [], pieces, url, noResponse, ...place } = over;
    const identity = this.identity(place);
    const bytes = pieces ?? [bodyOf(response)];
    const record: ExchangeRecord = {
      ...identity,
      kind: over.kind ?? 'llm',
      transport: 'undici',
      ...(over.kind !== 'http' && { provider: over.provider ?? 'openai-chat' }),
      request: {
        method: 'POST',
        url: url ?? 'https://api.openai.com/v1/chat/completions',
        headers: [['content-type', 'application/json'], ...requestHeaders],
        body: bodyOf(request),
      },
      ...(noResponse !== true && {
        response: {
          status,
          statusText: 'OK',
          headers: [['content-type', 'application/json'], ...responseHeaders],
          headSeq: identity.seqStart,
          headMs: 1.5,
          chunks: bytes.map((piece, index) => ({ seq: identity.seqStart, ms: 2 + index / 8, bytes: piece })),
          trailers: [],
        },
      }),
    };
    this.calls.push(record);
    return record;
  }

  /** A chat completion that answers with text, or asks for tools. */
  chat(messages: unknown[], answer: string | ToolAsk[], over: ExchangeOver = {}): ExchangeRecord {
    return this.exchange({ model: 'gpt-test', messages }, completion(answer), over);
  }

  tool(name: string, args: unknown, result: unknown, over: Place & Partial<ToolRecord> = {}): ToolRecord {
    const record: ToolRecord = {
      ...this.identity(over),
      kind: 'tool',
      tool: name,
      args,
      ...(over.thrown === undefined && { result }),
      synchronous: false,
      replay: 'substitute',
      ...over,
    } as ToolRecord;
    this.calls.push(record);
    return record;
  }

  observe(key: string, value: unknown, over: Place = {}): ObservationRecord {
    const record: ObservationRecord = { ...this.identity(over), kind: 'observation', key, value, synchronous: true };
    this.calls.push(record);
    return record;
  }

  decide(decision: string, data: unknown, over: Place = {}): DecisionRecord {
    const record: DecisionRecord = { ...this.identity(over), kind: 'decision', decision, data };
    this.calls.push(record);
    return record;
  }

  session(sessionId: string, phase: 'start' | 'end', over: Partial<SessionRecord> = {}): void {
    this.sessions.push({
      kind: 'session',
      phase,
      traceId: id('trace', this.runId, sessionId).padEnd(32, '0'),
      spanId: id('session', this.runId, sessionId),
      runId: this.runId,
      processPath: '0',
      sessionId,
      scope: sessionId === this.defaultSessionId ? '' : `s:${encodeURIComponent(sessionId)}`,
      startMs: T0 + 1,
      endMs: this.ms + 5,
      seq: ++this.seq,
      ...over,
    });
  }

  exit(over: Partial<ProcessExitRecord> = {}): void {
    this.exits.push({
      kind: 'exit',
      traceId: id('trace of process', this.runId, '0').padEnd(32, '0'),
      spanId: id('exit', this.runId, '0'),
      runId: this.runId,
      processPath: '0',
      endMs: this.ms + 100,
      exitCode: 0,
      seq: ++this.seq,
      stdout: { sha256: createHash('sha256').update('hi').digest('hex'), bytes: 2 },
      calls: this.calls.length,
      ...over,
    });
  }

  recording(gaps: Recording['gaps'] = []): Recording {
    const { runId, processes, exits, sessions, ambient } = this;
    const calls = [...this.calls].sort((a, b) =>
      a.processPath === b.processPath ? a.seqStart - b.seqStart : a.processPath < b.processPath ? -1 : 1,
    );
    return { formatVersion: '1', runId, processes, exits, sessions, calls, ambient, gaps };
  }

  /** In the order in which a process writes them. */
  records(): AnyRecord[] {
    return [...this.processes, ...this.sessions, ...this.calls, ...this.exits];
  }
}

type Place = Partial<
  Pick<
    CallRecord,
    | 'sessionId'
    | 'scope'
    | 'agentId'
    | 'processPath'
    | 'outcome'
    | 'error'
    | 'startMs'
    | 'endMs'
    | 'seqStart'
    | 'seqEnd'
    | 'spanId'
    | 'attributes'
    | 'ambient'
  >
>;

interface ExchangeOver extends Place {
  kind?: 'llm' | 'http';
  provider?: string;
  url?: string;
  status?: number;
  noResponse?: true;
  requestHeaders?: HeaderList;
  responseHeaders?: HeaderList;
  pieces?: Buffer[];
}

export interface ToolAsk {
  id: string;
  name: string;
  args: unknown;
}

export const user = (content: string) => ({ role: 'user', content });
export const toolMessage = (id: string, content: unknown) => ({
  role: 'tool',
  tool_call_id: id,
  content: typeof content === 'string' ? content : JSON.stringify(content),
});

export function assistant(answer: string | ToolAsk[]) {
  if (typeof answer === 'string') return { role: 'assistant', content: answer };
  return {
    role: 'assistant',
    content: null,
    tool_calls: answer.map(({ id, name, args }) => ({
      id,
      type: 'function',
      function: { name, arguments: JSON.stringify(args) },
    })),
  };
}

export function completion(answer: string | ToolAsk[]) {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1767323045,
    model: 'gpt-test-2026',
    choices: [
      { index: 0, message: assistant(answer), finish_reason: typeof answer === 'string' ? 'stop' : 'tool_calls' },
    ],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  };
}

function bodyOf(value: unknown): Buffer {
  if (Buffer.isBuffer(value)) return value;
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value), 'utf8');
}

function id(...parts: string[]): string {
  return createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, 16);
}
