import { patch } from '../patches';

/**
 * Replaces `Math.random`.
 *
 * What: the global function. Why here: one seed then reproduces every draw, without logging each. What breaks when it
 * goes wrong: the distribution; the generator has 128 bits of state and 53-bit doubles like the engine's.
 * Not installed under `--random-seed`: the program's sequence is then given by the flag.
 */
export function installRandom(draw: () => number): void {
  patch(
    Math,
    'random',
    () =>
      function random() {
        return draw();
      },
  );
}

/** True when `Math.random` is already governed by V8's flag. */
export function isSeededByFlag(execArgv: readonly string[], nodeOptions: string | undefined): boolean {
  return [...execArgv, ...(nodeOptions ?? '').split(/\s+/)].some(
    (flag) => flag.startsWith('--random-seed') || flag.startsWith('--random_seed'),
  );
}
