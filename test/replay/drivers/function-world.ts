import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { ExecutionLog } from '../../../instrumentation/schema/execution-log';
import { loadExecutionLog } from '../../../replay/injected/load-execution-log';

const ROOT = resolve(__dirname, '../../..');
const exec = promisify(execFile);

export type Sdk = 'openai' | 'anthropic';

const PACKAGES: Record<Sdk, string> = { openai: 'openai', anthropic: '@anthropic-ai/sdk' };

/** Runs the agent in a process of its own and prints what it gives. */
const PROGRAM = `
const api = require(${JSON.stringify(join(ROOT, 'dist/instrumentation/index.js'))});
const makeAgent = require(${JSON.stringify(join(__dirname, 'function-agent.cjs'))});
const [sdk, stream, how, base] = process.argv.slice(2);
const module_ = require(require.resolve(sdk === 'openai' ? 'openai' : '@anthropic-ai/sdk', { paths: [${JSON.stringify(ROOT)}] }));
const Client = module_.default ?? module_;
const agent = makeAgent(api, { sdk, Client, base, stream: stream === 'stream' });
agent[how]().then((text) => process.stdout.write(text));
`;

/** A provider that never says the same thing twice, a store, and a folder with recordings. */
export class FunctionWorld {
  readonly folder = mkdtempSync(join(tmpdir(), 'reenact-function-'));
  /** Requests that the server has seen. */
  served = 0;
  private readonly server: Server = createServer((request, response) => this.answer(request, response));

  async start(): Promise<void> {
    writeFileSync(join(this.folder, 'program.cjs'), PROGRAM);
    await new Promise<void>((done) => this.server.listen(0, '127.0.0.1', done));
  }

  get base(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Records the agent; answers its log and what it printed. */
  async record(sdk: Sdk, { stream = false, how = 'converse' } = {}): Promise<{ log: ExecutionLog; printed: string }> {
    const store = join(this.folder, `store-${Math.random()}`);
    const argv = ['program.cjs', sdk, stream ? 'stream' : 'whole', how, this.base];
    const { stdout } = await exec(
      process.execPath,
      ['--require', join(ROOT, 'dist/instrumentation/register.js'), ...argv],
      {
        cwd: this.folder,
        env: { PATH: process.env['PATH'], REENACT_DIR: store, OPENAI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k' },
      },
    );
    const before = process.env['REENACT_DIR'];
    process.env['REENACT_DIR'] = store;
    try {
      return { log: await loadExecutionLog('last'), printed: stdout };
    } finally {
      if (before === undefined) delete process.env['REENACT_DIR'];
      else process.env['REENACT_DIR'] = before;
    }
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    this.served += 1;
    const text = `answer ${this.served} of ${Math.random()}`;
    let body = '';
    request.on('data', (piece) => (body += String(piece)));
    request.on('end', () => {
      if (request.method === 'GET') return response.end(text);
      const stream = body.includes('"stream":true');
      response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' });
      const isOpenAi = request.url?.includes('chat/completions') === true;
      response.end(stream ? sse(isOpenAi, text) : JSON.stringify(whole(isOpenAi, text)));
    });
  }
}

export const packageOf = (sdk: Sdk): string => PACKAGES[sdk];

function whole(isOpenAi: boolean, text: string): unknown {
  return isOpenAi
    ? {
        id: 'c',
        object: 'chat.completion',
        model: 'm',
        choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
      }
    : {
        id: 'm',
        type: 'message',
        role: 'assistant',
        model: 'm',
        content: [{ type: 'text', text }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 1, output_tokens: 1 },
      };
}

function sse(isOpenAi: boolean, text: string): string {
  const pieces = text.split(' ').map((word) => `${word} `);
  if (isOpenAi) {
    const chunks = pieces.map((content) => ({
      id: 'c',
      object: 'chat.completion.chunk',
      model: 'm',
      choices: [{ index: 0, delta: { content } }],
    }));
    return `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`;
  }
  const events = [
    {
      type: 'message_start',
      message: {
        id: 'm',
        type: 'message',
        role: 'assistant',
        model: 'm',
        content: [],
        usage: { input_tokens: 1, output_tokens: 0 },
      },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ...pieces.map((word) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: word } })),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ];
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
}
