import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface LlmServer {
  readonly url: string;
  /** Requests answered so far. */
  count(): number;
  close(): Promise<void>;
}

type Body = Record<string, unknown>;

/** Answers in the wire formats of both providers, never the same twice; `x-fail: STATUS` fails. */
export async function startLlmServer(): Promise<LlmServer> {
  let count = 0;
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      count += 1;
      const fail = Number(request.headers['x-fail'] ?? 0);
      const anthropic = request.url?.startsWith('/v1/messages') === true;
      if (fail > 0) json(response, errorBody(anthropic), fail);
      else if (anthropic) answerAnthropic(body, { response, id: `msg_${count}` });
      else answerOpenai(body, { response, id: `chatcmpl-${count}` });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    count: () => count,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<Body> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return JSON.parse(Buffer.concat(pieces).toString('utf8')) as Body;
}

function json(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json', 'x-should-retry': 'false' });
  response.end(JSON.stringify(body));
}

function errorBody(anthropic: boolean): Body {
  const error = { type: 'rate_limit_error', message: 'slow down' };
  return anthropic ? { type: 'error', error } : { error };
}

function stream(response: ServerResponse, events: readonly Body[], named: boolean): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events)
    response.write(`${named ? `event: ${String(event['type'])}\n` : ''}data: ${JSON.stringify(event)}\n\n`);
  response.end(named ? '' : 'data: [DONE]\n\n');
}

interface To {
  readonly response: ServerResponse;
  readonly id: string;
}

function answerAnthropic(body: Body, { response, id }: To): void {
  const message = { id, type: 'message', role: 'assistant', model: body['model'], stop_sequence: null };
  const text = `answer ${id}`;
  if (body['stream'] !== true) {
    const usage = { input_tokens: 3, output_tokens: 2 };
    json(response, { ...message, content: [{ type: 'text', text }], stop_reason: 'end_turn', usage });
    return;
  }
  const usage = { input_tokens: 3, output_tokens: 0 };
  const delta = (piece: string): Body => ({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'text_delta', text: piece },
  });
  stream(
    response,
    [
      { type: 'message_start', message: { ...message, content: [], stop_reason: null, usage } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      delta('answer '),
      delta(id),
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 2 } },
      { type: 'message_stop' },
    ],
    true,
  );
}

function answerOpenai(body: Body, { response, id }: To): void {
  const base = { id, created: 1, model: body['model'] };
  const text = `answer ${id}`;
  if (body['stream'] !== true) {
    const message = { role: 'assistant', content: text, refusal: null };
    const choices = [{ index: 0, message, logprobs: null, finish_reason: 'stop' }];
    json(response, { ...base, object: 'chat.completion', choices });
    return;
  }
  const chunk = (delta: Body, finish: string | null = null): Body => ({
    ...base,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  stream(
    response,
    [
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: 'answer ' }),
      chunk({ content: id }),
      chunk({}, 'stop'),
    ],
    false,
  );
}
