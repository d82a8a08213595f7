import { resolve, sep } from 'node:path';

/** Frames looked at: those of our own code and of Node lie between the program and the place that refuses. */
const MAX_LOOKED_AT = 60;
const MAX_SHOWN = 10;

/** Folders of this package's own code. */
const OWN = ['instrumentation', 'exporter', 'replay'].map((name) => resolve(__dirname, '../..', name) + sep);

/**
 * The frames of the program on the stack, innermost first, one a line; when it has none there (a connection is made by
 * Node some turns after the call), those of Node.
 */
export function programStack(): string {
  // What the program has set itself, a source map for example, keeps its effect on the text.
  const { stackTraceLimit } = Error;
  let frames: string[];
  try {
    Error.stackTraceLimit = MAX_LOOKED_AT;
    frames = String(new Error('blocked').stack).split('\n').slice(1);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
  const others = frames.filter((frame) => !OWN.some((folder) => frame.includes(folder)));
  const own = others.filter((frame) => !/\(node:|at node:/.test(frame));
  return (own.length > 0 ? own : others).slice(0, MAX_SHOWN).join('\n');
}
