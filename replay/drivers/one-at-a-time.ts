import { AsyncLocalStorage } from 'node:async_hooks';
import { runInThisContext } from 'node:vm';
import { ReenactError } from '../../instrumentation/schema/errors';

interface Queue {
  last: Promise<unknown>;
  readonly inside: AsyncLocalStorage<boolean>;
}

const KEY = Symbol.for('reenact.function-replays.1');

/** One queue per process (or worker), whatever copies of the package and sandboxes of a test runner there are. */
function processQueue(): Queue {
  const realm = runInThisContext('globalThis') as { [KEY]?: Queue };
  if (realm[KEY] === undefined)
    Object.defineProperty(realm, KEY, { value: { last: Promise.resolve(), inside: new AsyncLocalStorage() } });
  return realm[KEY] as unknown as Queue;
}

/**
 * Runs replays of functions one after the other: what they replace in the process cannot stand twice.
 * @throws ReenactError USAGE within a replay, which would wait for itself
 */
export function oneAtATime<T>(run: () => Promise<T>): Promise<T> {
  const queue = processQueue();
  if (queue.inside.getStore() === true)
    return Promise.reject(
      new ReenactError('USAGE', 'a function under replay started a replay', {
        hint: 'Start replays one after the other, or replay a { command }.',
      }),
    );
  const mine = queue.last.then(() => queue.inside.run(true, run));
  // Whatever it gives or throws is its caller's, and not kept here.
  const ended = (): undefined => undefined;
  queue.last = mine.then(ended, ended);
  return mine;
}
