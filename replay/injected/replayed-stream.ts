import { ReenactError } from '../../instrumentation/schema/errors';
import type { StreamEnd } from './recorded-answer';

/**
 * The recorded pieces of a streamed answer, with what programs use of the SDKs' streams: iteration, `controller`,
 * `tee()` and `toReadableStream()`.
 */
export class ReplayedStream implements AsyncIterable<unknown> {
  readonly controller = new AbortController();
  /** The SDKs call their source so; `tee` and `toReadableStream` read from it. */
  private readonly iterator: () => AsyncIterator<unknown>;

  constructor(items: readonly unknown[], end: StreamEnd, atRest: () => Promise<void>) {
    let consumed = false;
    this.iterator = () => {
      if (consumed) throw new Error('Cannot iterate over a consumed stream, use `.tee()` to split the stream.');
      consumed = true;
      return this.play(items, end, atRest);
    };
  }

  private async *play(
    items: readonly unknown[],
    end: StreamEnd,
    atRest: () => Promise<void>,
  ): AsyncGenerator<unknown, void, undefined> {
    const { signal } = this.controller;
    for (const item of items) {
      if (signal.aborted) return;
      yield item;
    }
    if (end.by === 'error') throw end.error;
    if (end.by === 'end' || signal.aborted) return;
    // It was given up here. The program may be about to do so; if it is not, it asks for what was never received.
    await Promise.race([atRest(), new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))]);
    if (signal.aborted) return;
    throw new ReenactError(
      'REPLAY_EXHAUSTED',
      `the program reads on in a stream that it gave up after ${items.length} piece(s) when it was recorded`,
    );
  }

  [Symbol.asyncIterator](): AsyncIterator<unknown> {
    return this.iterator();
  }

  /** Two streams of the same pieces, which can be read independently. */
  tee(): [AsyncIterable<unknown>, AsyncIterable<unknown>] {
    const source = this.iterator();
    const queues: Promise<IteratorResult<unknown>>[][] = [[], []];
    const branch = (own: number): AsyncIterable<unknown> => ({
      [Symbol.asyncIterator]: () => ({
        next: () => {
          if (queues[own]?.length === 0) {
            const step = source.next();
            for (const queue of queues) queue.push(step);
          }
          return queues[own]?.shift() ?? source.next();
        },
      }),
    });
    return [branch(0), branch(1)];
  }

  /** Lines of JSON, one per piece. */
  toReadableStream(): ReadableStream<Uint8Array> {
    const source = this.iterator();
    const encoder = new TextEncoder();
    return new ReadableStream({
      async pull(controller) {
        const step = await source.next();
        if (step.done === true) controller.close();
        else controller.enqueue(encoder.encode(`${JSON.stringify(step.value)}\n`));
      },
      async cancel() {
        await source.return?.();
      },
    });
  }
}
