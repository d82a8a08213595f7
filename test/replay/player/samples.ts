import type { ExchangeRecord, ToolRecord, WireRequest } from '../../../instrumentation/schema/records';
import { exchange, identity } from '../../exporter/record-samples';

export interface Chat {
  readonly model?: string;
  readonly messages: readonly { role: string; content: unknown }[];
  readonly [field: string]: unknown;
}

/** The request of a chat completion that asks `text`. */
export function ask(text: string, more: Partial<Chat> = {}): WireRequest {
  return request(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: text }], ...more }));
}

export function request(body: string | Buffer, more: Partial<WireRequest> = {}): WireRequest {
  return {
    method: 'POST',
    url: 'https://api.example.com/v1/chat/completions',
    headers: [['content-type', 'application/json']],
    body: Buffer.from(body as string),
    ...more,
  };
}

let count = 0;

/** A recorded exchange; the order of calls is the recorded order. */
export function recorded(wire: WireRequest, over: Partial<ExchangeRecord> = {}): ExchangeRecord {
  count += 1;
  return {
    ...exchange(wire.body),
    spanId: `span-${count}`,
    scope: '',
    seqStart: count * 10,
    seqEnd: count * 10 + 9,
    request: wire,
    ...over,
  };
}

export function recordedTool(tool: string, args: unknown, over: Partial<ToolRecord> = {}): ToolRecord {
  count += 1;
  return {
    ...identity('tool'),
    spanId: `span-${count}`,
    scope: '',
    seqStart: count * 10,
    seqEnd: count * 10 + 9,
    tool,
    args,
    result: { ok: true },
    synchronous: false,
    replay: 'substitute',
    ...over,
  };
}
