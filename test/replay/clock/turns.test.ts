import { AsyncLocalStorage } from 'node:async_hooks';
import { createServer, connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { Turns } from '../../../replay/clock/turns';

/** The frames of Node in the stack of an error made after an `await` that `event` ends. */
async function nodeFrames(event: (done: () => void) => void): Promise<string[]> {
  await new Promise<void>((resolve) => event(() => process.nextTick(resolve)));
  return (new Error('here').stack ?? '').split('\n').filter((line) => /\(node:|at node:/.test(line));
}

test('an error after an await has the stack that it has after a read of a socket', async () => {
  const server = createServer((socket) => socket.end('x')).listen(0);
  const real = await nodeFrames((done) => connect((server.address() as AddressInfo).port).once('data', done));
  server.close();
  const turns = new Turns();
  const played = await nodeFrames((done) => {
    turns.add(done);
    turns.add(() => undefined);
  });
  expect(played).toEqual(real);
});

test('immediates that a step makes run before the next step', async () => {
  const order: string[] = [];
  const turns = new Turns();
  await new Promise<void>((resolve) => {
    turns.add(() => setImmediate(() => order.push('immediate')));
    turns.add(() => {
      order.push('step');
      resolve();
    });
  });
  expect(order).toEqual(['immediate', 'step']);
});

test('each step runs in the asynchronous context of its caller', async () => {
  const storage = new AsyncLocalStorage<string>();
  const turns = new Turns();
  const seen = await Promise.all(
    ['a', 'b'].map(
      (name) => new Promise((resolve) => storage.run(name, () => turns.add(() => resolve(storage.getStore())))),
    ),
  );
  expect(seen).toEqual(['a', 'b']);
});
