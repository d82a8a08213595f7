import childProcess from 'node:child_process';
import { patch } from '../../instrumentation/patches';
import { refusal } from './refusal';
import type { SandboxReport } from './refusal';

export interface ChildPolicy extends SandboxReport {
  /** Was the next child of this process recorded as a process of the run? */
  allowsNext(): boolean;
  /** A refused child counts in the numbering of children, as it did when it was recorded. */
  skipped(): void;
}

const HINT = 'Only children that made calls in the recording may start: they are replayed too.';

/**
 * Refuses child processes that are no part of the recorded run.
 *
 * What: `ChildProcess.prototype.spawn` and the synchronous functions. Why here: every asynchronous way ends in the first,
 * and below the others is only a binding. What breaks when it goes wrong: a tool that ran a command runs it for real.
 */
export function installChildSandbox(policy: ChildPolicy): void {
  const refuse = (what: string): NodeJS.ErrnoException => {
    policy.blocked(`child process ${what}`, HINT);
    policy.skipped();
    return refusal('spawn', `spawn ${what}`, what);
  };
  const prototype = childProcess.ChildProcess.prototype as unknown as { spawn(options: { file?: string }): unknown };
  patch(
    prototype,
    'spawn',
    (original) =>
      function spawn(this: unknown, options: { file?: string }) {
        if (policy.allowsNext()) return original.call(this as never, options);
        throw refuse(String(options?.file ?? ''));
      },
  );
  const target = childProcess as unknown as Record<string, (...args: unknown[]) => unknown>;
  for (const name of ['spawnSync', 'execFileSync', 'execSync'])
    patch(
      target,
      name,
      (original) =>
        function (this: unknown, ...args: unknown[]) {
          if (policy.allowsNext()) return original?.apply(this, args);
          throw refuse(String(args[0]));
        },
    );
}
