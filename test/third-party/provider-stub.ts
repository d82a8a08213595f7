import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A provider that answers as the real APIs do, always the same: JSON or a stream, by what the request asks for. */
export class ProviderStub {
  readonly server: Server;
  /** Paths in order, with the status given. */
  readonly seen: string[] = [];

  private constructor() {
    this.server = createServer((request, response) => {
      const received: Buffer[] = [];
      request.on('data', (piece: Buffer) => received.push(piece));
      request.on('end', () => {
        const body = JSON.parse(Buffer.concat(received).toString() || '{}') as Body;
        this.seen.push(request.url ?? '');
        answer(request.url ?? '', body, response);
      });
    });
  }

  static async listen(): Promise<ProviderStub> {
    const stub = new ProviderStub();
    await new Promise<void>((resolve) => stub.server.listen(0, '127.0.0.1', resolve));
    return stub;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

interface Body {
  readonly model?: string;
  readonly stream?: boolean;
}

function answer(path: string, body: Body, response: ServerResponse): void {
  if (body.model === 'busy') {
    response.writeHead(429, { 'content-type': 'application/json', 'retry-after-ms': '1' });
    response.end(JSON.stringify({ type: 'error', error: { type: 'rate_limit_error', message: 'slow down' } }));
    return;
  }
  const events = path.includes('/messages') ? MESSAGE_EVENTS : CHAT_EVENTS;
  if (body.stream !== true) {
    response.writeHead(200, { 'content-type': 'application/json', 'x-request-id': 'req_1', 'request-id': 'req_1' });
    response.end(JSON.stringify(path.includes('/messages') ? MESSAGE : COMPLETION));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', 'x-request-id': 'req_1', 'request-id': 'req_1' });
  const send = (index: number): void => {
    const event = events[index];
    if (event === undefined) {
      response.end();
    } else if (body.model === 'dropped' && index === 3) {
      response.socket?.destroy();
    } else {
      response.write(event);
      if (body.model !== 'endless' || index < 3) setTimeout(send, 15, index + 1);
    }
  };
  send(0);
}

const CHAT = { id: 'chatcmpl-1', created: 1, model: 'm', system_fingerprint: 'fp' };
const COMPLETION = {
  ...CHAT,
  object: 'chat.completion',
  choices: [
    { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: '{"x":"hello"}', refusal: null } },
  ],
  usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
};

function chatEvent(delta: unknown, finish: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  return `data: ${JSON.stringify({ ...CHAT, object: 'chat.completion.chunk', choices })}\n\n`;
}

const CHAT_EVENTS = [
  chatEvent({ role: 'assistant', content: '' }),
  ...['Hel', 'lo ', 'you'].map((content) => chatEvent({ content })),
  chatEvent({}, 'stop'),
  'data: [DONE]\n\n',
];

const MESSAGE_BASE = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_sequence: null };
const MESSAGE = {
  ...MESSAGE_BASE,
  content: [{ type: 'text', text: 'hello' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 1, output_tokens: 2 },
};

const MESSAGE_EVENTS = [
  {
    type: 'message_start',
    message: { ...MESSAGE_BASE, content: [], stop_reason: null, usage: { input_tokens: 1, output_tokens: 0 } },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  ...['Hel', 'lo ', 'you'].map((text) => ({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'text_delta', text },
  })),
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 3 } },
  { type: 'message_stop' },
].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
