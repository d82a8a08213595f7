import { encodeSse } from './providers/sse';
import type { ProviderRequest, Provider } from './providers/provider';
import type { RecordedError } from './schema/records';
import { describeThrown } from './thrown-value';
import type { OpenTurn } from './turn-log';

type MakeIterator = () => AsyncIterator<unknown>;

/** What a stream is read for: the turn it answers, and the wire format in which its items make a message. */
export interface StreamReader {
  readonly turn: OpenTurn;
  readonly provider: Provider;
  readonly request: ProviderRequest;
}

export function isStream(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

/**
 * Listens to a stream while the program reads it; the stream stays the object it was.
 *
 * What is replaced: the function by which this one stream makes its iterator (the SDKs' `iterator` field, from which
 * `tee()` and `toReadableStream()` read too, else `Symbol.asyncIterator`).
 * Why here: it is the only place every reader passes, and nothing is read that the program does not read.
 * What breaks when wrong: only the reading of that stream.
 */
export function tapStream(stream: AsyncIterable<unknown>, reader: StreamReader): void {
  const target = stream as { iterator?: unknown; [Symbol.asyncIterator]: MakeIterator };
  const field = Object.hasOwn(target, 'iterator') && typeof target.iterator === 'function';
  const key = field ? 'iterator' : Symbol.asyncIterator;
  reader.turn.streams();
  const make = (field ? target.iterator : target[Symbol.asyncIterator]) as MakeIterator;
  let first = true;
  const tapped = function (this: unknown): AsyncIterator<unknown> {
    const iterator = make.call(this ?? stream);
    // A stream that allows a second reading gives the same again; the recording needs it once.
    if (!first) return iterator;
    first = false;
    return tapIterator(iterator, reader, () => isAborted(stream));
  };
  Object.defineProperty(stream, key, { value: tapped, configurable: true, writable: true, enumerable: field });
}

/** The SDKs end a stream quietly when its `controller` was aborted. */
function isAborted(stream: object): boolean {
  return (stream as { controller?: { signal?: { aborted?: unknown } } }).controller?.signal?.aborted === true;
}

function tapIterator(
  iterator: AsyncIterator<unknown>,
  reader: StreamReader,
  aborted: () => boolean,
): AsyncIterator<unknown> {
  const listen = async (step: Promise<IteratorResult<unknown>>): Promise<IteratorResult<unknown>> => {
    try {
      const result = await step;
      if (result.done === true) end(reader, undefined, aborted());
      else reader.turn.item(result.value);
      return result;
    } catch (error) {
      end(reader, error);
      throw error;
    }
  };
  const { return: giveUp, throw: fail } = iterator;
  const tapped: AsyncIterator<unknown> & AsyncIterable<unknown> = {
    next: (...args) => listen(iterator.next(...args)),
    ...(giveUp && {
      return: (value?: unknown) => {
        end(reader, undefined, true);
        return giveUp.call(iterator, value);
      },
    }),
    ...(fail && { throw: (error?: unknown) => listen(fail.call(iterator, error)) }),
    [Symbol.asyncIterator]: () => tapped,
  };
  return tapped;
}

function end(reader: StreamReader, error?: unknown, givenUp = false): void {
  const { turn } = reader;
  const failure = error === undefined ? undefined : describeThrown(error);
  const { body, finished } = assemble(reader);
  // After the finishing mark, whoever stops reading has everything.
  const outcome = failure !== undefined ? 'error' : finished ? 'ok' : givenUp ? 'aborted' : 'cut';
  turn.answered(withFailure(body, failure), { outcome, ...(failure && { error: failure }) });
}

function withFailure(body: Record<string, unknown>, failure: RecordedError | undefined): Record<string, unknown> {
  return failure === undefined || 'error' in body ? body : { ...body, error: failure };
}

function assemble({ turn, provider, request }: StreamReader): { body: Record<string, unknown>; finished: boolean } {
  return assembleItems(turn.items(), provider, request);
}

/** The message that the items of a stream, as JSON texts, come to. */
export function assembleItems(
  items: readonly string[],
  provider: Provider,
  request: ProviderRequest,
): { body: Record<string, unknown>; finished: boolean } {
  try {
    const text = items.map((item) => encodeSse(item).toString('utf8')).join('');
    return provider.parseResponse({ status: 200, contentType: 'text/event-stream', text, complete: true }, request);
  } catch {
    // Items of an unknown kind stay readable in `items`; there is no message to make of them.
    return { body: {}, finished: false };
  }
}
