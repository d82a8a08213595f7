import type { Gap } from './records';

/** One LLM or tool call of a conversation. Field names are a public contract. */
export interface ExecutionTurn {
  turnId: string;
  /** ISO 8601. */
  timestamp: string;
  type: 'llm_call' | 'tool_call';
  /** LLM: the body as sent, in the provider's shape. Tool: `{ name, args }`. */
  request: { [key: string]: unknown };
  /** LLM: the provider's non-stream body. Tool: `{ result }` or `{ error: { name, message, code? } }`. */
  response: { [key: string]: unknown };
  durationMs: number;
  /** Optional, written by Reenact. */
  agentId?: string;
  provider?: string;
  /** Span ids of the HTTP attempts of an LLM turn, in order; the span of a tool turn. */
  spanIds?: string[];
  /** True for a tool call that was not observed but follows from the messages. */
  inferred?: true;
  status?: number;
  outcome?: string;
  error?: { name: string; message: string; code?: string };
  /** Places of issue and of completion in one order of the log; for logs that hold no recording. `end` null: open. */
  order?: { start: number; end: number | null };
  /** The pieces in which a streamed response arrived, as the SDK gave them; for logs that hold no recording. */
  items?: unknown[];
  /** The result or the thrown value with what JSON loses of it (`typed-json.ts`), where JSON loses something. */
  typedResponse?: unknown;
}

/** A conversation. Field names are a public contract. */
export interface ExecutionLog {
  sessionId: string;
  agentVersion: string;
  promptVersion: string;
  /** ISO 8601. */
  startedAt: string;
  turns: ExecutionTurn[];
  outcome?: 'resolved' | 'escalated' | 'abandoned';
  metadata?: Record<string, unknown>;
  /** Optional, written by Reenact. */
  agentId?: string;
  runId?: string;
  traceIds?: string[];
  durationMs?: number;
  /** `requestId` is set when the entry came from a stream of structured events. */
  decisions?: { timestamp: string; name: string; data: unknown; agentId?: string; requestId?: string }[];
  observations?: {
    timestamp: string;
    key: string;
    args?: unknown;
    value?: unknown;
    error?: unknown;
    agentId?: string;
    requestId?: string;
  }[];
  gaps?: Gap[];
  /** Set on the log of a replay. */
  replayOf?: string;
  /** Exact bytes, order and ambient log, for replay; see docs/reference/recording-format.md. */
  recording?: StoredRecording;
}

/** JSON form of a `Recording` of one session and the prelude of its processes. */
export interface StoredRecording {
  formatVersion: string;
  [key: string]: unknown;
}
