import { AsyncResource } from 'node:async_hooks';
import { originals } from '../../instrumentation/originals';

/**
 * Gives the program its events one per turn of the event loop, as the system gives them.
 *
 * Between two immediates of one turn Node runs what was promised from JavaScript (`runNextTicks`), after the last one
 * and after a read of a socket from outside of it. The stack of an error that the program makes after an `await` shows
 * the difference, and programs print stacks.
 */
export class Turns {
  private readonly steps: (() => void)[] = [];
  private scheduled = false;

  /** Runs the step in a turn of its own, in the asynchronous context of the caller. */
  readonly add = (step: () => void): void => {
    const context = new AsyncResource('REENACTTURN', { requireManualDestroy: true });
    this.steps.push(() => context.runInAsyncScope(step));
    this.schedule();
  };

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    originals.setImmediate(() => {
      try {
        this.steps.shift()?.();
      } finally {
        this.scheduled = false;
        // Only now: immediates that the step made come before the next step, which is then the last of its turn.
        if (this.steps.length > 0) this.schedule();
      }
    });
  }
}
