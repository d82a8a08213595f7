// Exporter endpoints and stores that fail.
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';

async function endpoint(onConnection) {
  const sockets = new Set();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    onConnection(socket);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  return { env: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${server.address().port}` }, stop };
}

const garbage = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n\u0000{"no":]]]';

export function endpointCases() {
  return [
    { name: 'endpoint hangs', prepare: () => endpoint(() => undefined) },
    {
      name: 'endpoint throws garbage',
      prepare: () => endpoint((socket) => socket.on('data', () => socket.end(garbage))),
    },
    { name: 'endpoint is no HTTP server', prepare: () => endpoint((socket) => socket.end('220 mail ready\r\n')) },
    {
      name: 'endpoint resets',
      prepare: () => endpoint((socket) => socket.once('data', () => socket.resetAndDestroy())),
    },
    { name: 'endpoint refuses', prepare: () => ({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' } }) },
    { name: 'endpoint is no address', prepare: () => ({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'not an address' } }) },
  ];
}

function mountOf64KB(folder) {
  const store = join(folder, 'store');
  mkdirSync(store);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', store], { stdio: 'ignore' });
  return { stop: () => execFileSync('umount', ['-l', store]) };
}

function canMount() {
  try {
    execFileSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

export function storeCases() {
  return [
    { name: 'store is a file', prepare: (folder) => writeFileSync(join(folder, 'store'), 'a file') },
    { name: 'store is a dangling link', prepare: (folder) => symlinkSync('/nowhere/at/all', join(folder, 'store')) },
    { name: 'store cannot be made', prepare: () => ({ env: { REENACT_DIR: '/proc/reenact' } }) },
    {
      name: 'store is removed in mid-run',
      program: `import { rmSync } from 'node:fs';
for (let turn = 0; turn < 6; turn += 1) {
  console.log(await (await fetch(process.env.BASE + '/' + turn)).text());
  if (turn % 2 === 0) rmSync(process.env.REENACT_DIR, { recursive: true, force: true });
}
`,
    },
    { name: 'disk is full (64 KB)', prepare: mountOf64KB, skip: canMount() ? undefined : 'mount is refused here' },
  ];
}
