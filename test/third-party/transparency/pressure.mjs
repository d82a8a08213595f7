// Back-pressure: how much of a 64 MB answer the provider has sent half a second after its client read one chunk and
// paused. Ten runs without recording, then three with it, which may be at most 1.1 times the largest of the ten.
//
//   node test/third-party/transparency/pressure.mjs [--node PATH]
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const { values: options } = parseArgs({ options: { node: { type: 'string', default: process.execPath } } });
const CHUNK = Buffer.alloc(64 * 1024, 'x');
const CHUNKS = 1024;

const PAUSE = `await new Promise((resolve) => setTimeout(resolve, 500)); await fetch(process.env.BASE + '/paused'); process.exit(0);`;
const CLIENTS = {
  fetch: `const answer = await fetch(process.env.BASE + '/flood'); await answer.body.getReader().read(); ${PAUSE}`,
  'node:http': `import http from 'node:http';
const message = await new Promise((resolve) => http.get(process.env.BASE + '/flood', resolve));
await new Promise((resolve) => message.once('data', () => { message.pause(); resolve(); })); ${PAUSE}`,
  openai: `import OpenAI from '${join(root, 'node_modules/openai/index.mjs')}';
const client = new OpenAI({ apiKey: 'k', baseURL: process.env.BASE });
const stream = await client.chat.completions.create({ model: 'm', messages: [], stream: true });
await stream[Symbol.asyncIterator]().next(); ${PAUSE}`,
};

let sent = 0;
let paused = 0;
const server = createServer((request, response) => {
  request.resume();
  response.on('error', () => undefined);
  if (request.url === '/paused') {
    paused = sent;
    return response.end();
  }
  const isChat = request.url !== '/flood';
  response.writeHead(200, { 'content-type': isChat ? 'text/event-stream' : 'application/octet-stream' });
  const event = {
    id: 'c',
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta: { content: CHUNK.toString() } }],
  };
  const piece = isChat ? Buffer.from(`data: ${JSON.stringify(event)}\n\n`) : CHUNK;
  let left = CHUNKS;
  const send = () => {
    while (left > 0 && !response.destroyed) {
      left -= 1;
      sent += piece.length;
      if (!response.write(piece)) return response.once('drain', send);
    }
    return response.end();
  };
  return send();
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const folder = mkdtempSync(join(tmpdir(), 'reenact-pressure-'));
const env = { ...process.env, BASE: `http://127.0.0.1:${server.address().port}`, REENACT_DIR: join(folder, 'store') };

async function megabytesSent(args) {
  sent = 0;
  paused = 0;
  await new Promise((resolve) => spawn(options.node, args, { env, stdio: 'ignore' }).on('close', resolve));
  return paused / 1e6;
}

async function several(count, args) {
  const figures = [];
  for (let run = 0; run < count; run += 1) figures.push(await megabytesSent(args));
  return figures;
}

for (const [name, text] of Object.entries(CLIENTS)) {
  const file = join(folder, `${name.replace(/\W/g, '-')}.mjs`);
  writeFileSync(file, text);
  const plain = await several(10, [file]);
  const recorded = await several(3, ['--require', join(root, 'dist/instrumentation/register.js'), file]);
  const most = Math.max(...plain);
  const isSame = Math.min(...plain) > 0 && Math.max(...recorded) <= most * 1.1 && Math.min(...recorded) > 0;
  const shown = (figures) => figures.map((figure) => figure.toFixed(2)).join(' ');
  console.log(`${isSame ? 'ok  ' : 'FAIL'} ${name}: MB without ${shown(plain)}; with ${shown(recorded)}`);
  if (!isSame) process.exitCode = 1;
}
server.closeAllConnections();
server.close();
rmSync(folder, { recursive: true, force: true });
