import { createServer } from 'node:http';
import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';

const CHAT = { id: 'c1', created: 1, model: 'm' };
const chunk = (delta: unknown, finish: string | null = null): object => ({ ...CHAT, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] }); // prettier-ignore
const USAGE = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_sequence: null };
const RESPONSE = { id: 'resp_1', object: 'response', created_at: 1, model: 'm', error: null, tools: [], parallel_tool_calls: true }; // prettier-ignore
const TEXT_ITEM = { type: 'message', id: 'msg_1', status: 'completed', role: 'assistant', content: [{ type: 'output_text', text: '{"x":1}', annotations: [] }] }; // prettier-ignore

/** A fixed picture of one pixel. */
export const GIF = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

interface Asked {
  readonly model?: string;
  readonly stream?: boolean;
}

/** A provider with the answers over which recorders are known to have stumbled. */
export async function startProvider(): Promise<{ origin: string; seen: string[]; close(): void }> {
  const seen: string[] = [];
  const tries = new Map<string, number>();
  const server: Server = createServer((request, response) => {
    let body = '';
    request.on('data', (piece: Buffer) => (body += piece.toString()));
    request.on('end', () => {
      const path = request.url ?? '';
      seen.push(path);
      if (path === '/gif') return binary(response);
      const asked = (body.startsWith('{') ? JSON.parse(body) : {}) as Asked;
      const count = (tries.get(body) ?? 0) + 1;
      tries.set(body, count);
      if (asked.model === 'flaky' && count % 2 === 1)
        return json(response, { error: { message: 'slow down' } }, { status: 429, 'retry-after-ms': '1' });
      answer(path, asked, response);
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

function binary(response: ServerResponse): void {
  const bytes = gzipSync(GIF);
  response.writeHead(200, { 'content-type': 'image/gif', 'content-encoding': 'gzip', 'content-length': bytes.length });
  response.end(bytes);
}

function json(
  response: ServerResponse,
  body: unknown,
  { status = 200, ...headers }: { status?: number; [name: string]: unknown } = {},
): void {
  // prettier-ignore
  response.writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'req_1', ...(headers as object) });
  response.end(JSON.stringify(body));
}

function events(response: ServerResponse, list: readonly (object | string)[], named = false): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (index: number): void => {
    const event = list[index];
    if (event === undefined) return void response.end();
    const name = named ? `event: ${(event as { type: string }).type}\n` : '';
    response.write(`${name}data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`);
    setTimeout(send, 10, index + 1);
  };
  send(0);
}

function answer(path: string, { model, stream }: Asked, response: ServerResponse): void {
  if (path === '/v1/models') return json(response, { object: 'list', data: [{ id: 'm1', object: 'model' }] });
  if (path === '/v1/messages') return messages(stream === true, model ?? '', response);
  if (path === '/v1/responses') {
    const done = { ...RESPONSE, status: 'completed', output: [TEXT_ITEM], usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } }; // prettier-ignore
    if (stream !== true) return json(response, done);
    const list = [
      { type: 'response.created', response: { ...RESPONSE, status: 'in_progress', output: [] } },
      { type: 'response.output_item.added', output_index: 0, item: { ...TEXT_ITEM, content: [] } },
      { type: 'response.output_text.delta', output_index: 0, content_index: 0, item_id: 'msg_1', delta: '{"x":1}' },
      { type: 'response.completed', response: done },
    ];
    return events(response, list, true);
  }
  if (stream !== true)
    return json(response, { ...CHAT, object: 'chat.completion', usage: USAGE, choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: '{"x":1}', refusal: null } }] }); // prettier-ignore
  const list = [chunk({ role: 'assistant', content: '' }), chunk({ content: 'one' }), chunk({ content: ' two' })];
  if (model === 'breaks')
    return events(response, [...list, { error: { message: 'overloaded', type: 'server_error' } }]);
  return events(response, [...list, chunk({}, 'stop'), { ...CHAT, object: 'chat.completion.chunk', choices: [], usage: USAGE }, '[DONE]']); // prettier-ignore
}

function messages(stream: boolean, model: string, response: ServerResponse): void {
  const usage = { input_tokens: 1, output_tokens: 2 };
  if (!stream) return json(response, { ...MESSAGE, content: [{ type: 'text', text: 'hi' }], stop_reason: 'end_turn', usage }); // prettier-ignore
  const list = [
    { type: 'message_start', message: { ...MESSAGE, content: [], stop_reason: null, usage } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } },
  ];
  const end = [
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 2 } },
    { type: 'message_stop' },
  ];
  const broken = [{ type: 'error', error: { type: 'overloaded_error', message: 'overloaded' } }];
  events(response, [...list, ...(model === 'breaks' ? broken : end)], true);
}
