import type { ExchangeObserver, ExchangeRecorder, ExchangeStart } from '../exchange-observer';
import type { HeaderList, Outcome, RecordedError } from '../schema/records';

/** Longest stack that is kept with an error, in characters. */
const MAX_FRAMES = 2_000;

/** Told of every failure of our own code inside the program's; counts it, never throws. */
export type TapFailure = (place: string, error: unknown) => void;

/** Who observes, and who is told when observing itself fails. */
export interface TapContext extends TapOptions {
  readonly observer: ExchangeObserver;
  readonly onFailure: TapFailure;
}

/** How a replay inside a process of others taps; without any, one tap per process. */
export interface TapOptions {
  /** Taps what another recorder of this process has tapped already. */
  readonly stacked?: boolean;
  /** Called when Node's own undici is about to load; what it returns, once it has. */
  readonly whileLoading?: () => () => void;
  /** The dispatcher of undici that shall make a request in place of the program's, with connections of its own. */
  readonly redirect?: (dispatcher: object, origin: string) => object | undefined;
}

/**
 * A recorder that cannot hurt the program: nothing throws, the first `end` wins, and the tap can ask how far the
 * exchange has come.
 */
export class GuardedExchange {
  private readonly recorder: ExchangeRecorder;
  private readonly context: TapContext;
  private readonly place: string;
  hasHead = false;
  hasEnded = false;
  /** Why the program gave up, once it has. */
  private reason: RecordedError | undefined;

  private constructor(recorder: ExchangeRecorder, context: TapContext, place: string) {
    this.recorder = recorder;
    this.context = context;
    this.place = place;
  }

  /** `undefined` when the observer does not want this exchange, or fails. */
  static start(context: TapContext, info: ExchangeStart): GuardedExchange | undefined {
    const place = `tap ${info.transport}`;
    const recorder = guard(context, place, () => context.observer.start(info));
    return recorder === undefined ? undefined : new GuardedExchange(recorder, context, place);
  }

  /** Runs a piece of our own code on behalf of this exchange. */
  run<T>(fn: () => T): T | undefined {
    return guard(this.context, this.place, fn);
  }

  get correlation(): readonly [name: string, value: string] | undefined {
    return this.run(() => this.recorder.correlation);
  }

  requestBody(bytes: Uint8Array): void {
    if (!this.hasEnded && bytes.byteLength > 0) this.run(() => this.recorder.requestBody(bytes));
  }

  responseHead(status: number, statusText: string, headers: HeaderList): void {
    // 1xx other than "switching protocols" announce the real head; clients pass them to few programs, and none waits.
    if (this.hasEnded || this.hasHead || (status < 200 && status !== 101)) return;
    this.hasHead = true;
    this.run(() => this.recorder.responseHead({ status, statusText, headers }));
  }

  chunk(bytes: Uint8Array): void {
    if (!this.hasEnded) this.run(() => this.recorder.chunk(bytes));
  }

  trailers(trailers: HeaderList): void {
    if (!this.hasEnded && trailers.length > 0) this.run(() => this.recorder.trailers(trailers));
  }

  /** The program let go of the exchange; how the client then reports the end no longer matters. */
  giveUp(reason: unknown): void {
    this.reason ??= describeAbort(reason);
  }

  get givenUp(): boolean {
    return this.reason !== undefined;
  }

  finish(): void {
    this.end('ok');
  }

  /** The client reports a failure: the program's own doing, the peer's after the head, or no answer at all. */
  fail(error: unknown): void {
    if (this.reason !== undefined)
      this.end('aborted', isNamed(error, 'TimeoutError') ? describeError(error) : this.reason);
    else this.end(this.hasHead ? 'cut' : 'error', describeError(error));
  }

  private end(outcome: Outcome, error?: RecordedError): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.run(() => this.recorder.end(outcome, error));
  }
}

function guard<T>(context: TapContext, place: string, fn: () => T): T | undefined {
  try {
    return fn();
  } catch (error) {
    try {
      context.onFailure(place, error);
    } catch {
      // The counter of failures failed: there is nobody left to tell, and the program must not notice.
    }
    return undefined;
  }
}

/** Name, message and code of whatever was thrown; the code may stand in the cause (`fetch failed`). */
export function describeError(error: unknown): RecordedError {
  if (typeof error !== 'object' || error === null) return { name: 'Error', message: String(error) };
  const { name, message, code, cause } = error as Record<string, unknown>;
  const ownOrCause = typeof code === 'string' ? code : (cause as { code?: unknown } | undefined | null)?.code;
  const frames = typeof code === 'string' ? framesOfNode(error) : undefined;
  return {
    name: typeof name === 'string' ? name : 'Error',
    message: typeof message === 'string' ? message : '',
    ...(typeof ownOrCause === 'string' ? { code: ownOrCause } : {}),
    ...(frames !== undefined && { frames }),
  };
}

/** The stack below the message, if every frame is Node's own: then no code of a replay makes it again. */
function framesOfNode(error: object): string | undefined {
  const { stack } = error as { stack?: unknown };
  if (typeof stack !== 'string') return undefined;
  const first = stack.search(/^ {4}at /m);
  const frames = first < 0 ? '' : stack.slice(first);
  const isNodes =
    frames.length < MAX_FRAMES && frames.split('\n').every((line) => /^ {4}at .*\bnode:[^)]+\)?$/.test(line));
  return frames !== '' && isNodes ? frames : undefined;
}

function describeAbort(reason: unknown): RecordedError {
  // Any error, of whatever realm.
  if (typeof reason === 'object' && reason !== null && 'name' in reason && 'message' in reason)
    return describeError(reason);
  return { name: 'AbortError', message: typeof reason === 'string' ? reason : 'This operation was aborted' };
}

function isNamed(value: unknown, name: string): boolean {
  return typeof value === 'object' && value !== null && (value as { name?: unknown }).name === name;
}
