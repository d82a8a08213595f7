import * as workerThreads from 'node:worker_threads';

/** The thread this code runs on. */
export type Thread = 'main' | 'worker' | 'loader';

/**
 * Tells the main thread, a worker of the program and Node's own loader thread apart. With `module.register`, preloads
 * run on the loader thread too (seen on 20.20, 22.23 and 24.21), where nothing of the program runs.
 */
export function whereAmI(): Thread {
  if (workerThreads.isMainThread) return 'main';
  const { isInternalThread } = workerThreads as { isInternalThread?: boolean };
  if (isInternalThread !== undefined) return isInternalThread ? 'loader' : 'worker';
  // Node 20 has no flag. A worker made by a program always has a port to its parent, the loader thread has none.
  return workerThreads.parentPort === null ? 'loader' : 'worker';
}
