import workerThreads from 'node:worker_threads';
import { patch } from '../../instrumentation/patches';
import { refusal } from './refusal';
import type { SandboxReport } from './refusal';

/**
 * Refuses worker threads, for replays that cannot follow them.
 *
 * What: the class `Worker`, by a proxy that only looks at `new`. Why here: below it is only a binding. What breaks when
 * it goes wrong: a worker makes live calls.
 */
export function installWorkerSandbox(report: SandboxReport): void {
  patch(
    workerThreads,
    'Worker',
    (original) =>
      new Proxy(original, {
        construct: (target, args: unknown[], newTarget) => {
          if (report.applies?.() === false)
            return Reflect.construct(target, args, newTarget as typeof target) as object;
          report.blocked(`worker ${String(args[0])}`, 'A function that starts workers is replayed as a { command }.');
          throw refusal('worker', `worker ${String(args[0])}`);
        },
      }),
  );
}
