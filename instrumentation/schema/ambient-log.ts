/**
 * What a program reads from its surroundings, as compact lines that ride on the span of the next finished call.
 *
 * A line is `KIND SCOPE rest`, fields separated by tabs, SCOPE percent-encoded:
 * - `d` clock reads of `Date`: `after:ms,after:ms,…`, both as differences to the read before in the line, base 36;
 *   `after` is the seq of the last event before the read. `xN` after a pair repeats it N more times.
 * - `p` reads of `performance.now`/`hrtime`, in microseconds since the process started, same form.
 * - `t` timer firings: `kind.delay.ordinal:seq:ms,…` (ms since the process started), base 36.
 * - `c` crypto draws: `op:base64,…` in order.
 * - `!` a gap: text.
 */
export interface ClockRead {
  readonly after: number;
  /** `d`: epoch ms. `p`: microseconds. */
  readonly value: number;
}

export interface TimerFiring {
  /** `kind.delay`, e.g. `timeout.250`. */
  readonly key: string;
  /** Ordinal of the timer's creation among those of its scope and key, from 0. */
  readonly ordinal: number;
  readonly seq: number;
  /** Milliseconds since the process started. */
  readonly ms: number;
}

export interface CryptoDraw {
  readonly op: string;
  readonly bytes: Buffer;
}

/** The ambient log of one scope. */
export interface AmbientStream {
  readonly scope: string;
  readonly date: ClockRead[];
  readonly monotonic: ClockRead[];
  readonly timers: TimerFiring[];
  readonly draws: CryptoDraw[];
  readonly gaps: string[];
}

const base36 = (n: number): string => Math.round(n).toString(36);

/** Writes lines while a process runs. One per process; `drain` empties it. */
export class AmbientWriter {
  private readonly pending = new Map<string, string[]>();
  private readonly last = new Map<string, { after: number; value: number; repeat: number }>();
  private bytes = 0;
  private readonly maxBytes: number;

  /** @param maxBytes bound of what is pending; beyond it reads are dropped and the gap is named. */
  constructor(maxBytes = 4 * 1024 * 1024) {
    this.maxBytes = maxBytes;
  }

  clockRead(kind: 'd' | 'p', scope: string, read: ClockRead): void {
    const id = `${kind}\t${encodeURIComponent(scope)}`;
    const last = this.last.get(id);
    if (last === undefined) {
      this.last.set(id, { ...read, repeat: 0 });
      this.push(id, `${base36(read.after)}:${base36(read.value)}`);
      return;
    }
    const after = read.after - last.after;
    const value = Math.round(read.value) - Math.round(last.value);
    if (after === 0 && value === 0) {
      last.repeat += 1;
      return;
    }
    if (last.repeat > 0) this.push(id, `x${base36(last.repeat)}`);
    this.last.set(id, { ...read, repeat: 0 });
    this.push(id, `${base36(after)}:${base36(value)}`);
  }

  timer(scope: string, firing: TimerFiring): void {
    this.push(
      `t\t${encodeURIComponent(scope)}`,
      `${firing.key}.${base36(firing.ordinal)}:${base36(firing.seq)}:${base36(firing.ms)}`,
    );
  }

  draw(scope: string, op: string, bytes: Uint8Array): void {
    this.push(
      `c\t${encodeURIComponent(scope)}`,
      `${op}:${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')}`,
    );
  }

  private push(id: string, item: string): void {
    if (this.bytes > this.maxBytes) {
      this.pending.set('!\t', ['ambient log over its bound: later reads of clock and randomness are not recorded']);
      return;
    }
    this.bytes += item.length + 1;
    const items = this.pending.get(id);
    if (items === undefined) this.pending.set(id, [item]);
    else items.push(item);
  }

  /** The lines since the last call, or `undefined` when there are none. */
  drain(): string[] | undefined {
    for (const [id, last] of this.last) {
      if (last.repeat > 0) this.push(id, `x${base36(last.repeat)}`);
    }
    this.last.clear();
    if (this.pending.size === 0) return undefined;
    const lines = [...this.pending].map(([id, items]) => `${id}\t${items.join(',')}`);
    this.pending.clear();
    this.bytes = 0;
    return lines;
  }
}

/** Reads lines back into one stream per scope. Tolerant: a damaged item becomes a gap of its stream. */
export function readAmbient(pieces: Iterable<readonly string[]>): Map<string, AmbientStream> {
  const streams = new Map<string, AmbientStream>();
  for (const lines of pieces) {
    for (const line of lines) readLine(line, streams);
  }
  return streams;
}

function readLine(line: string, streams: Map<string, AmbientStream>): void {
  const [kind, encodedScope, rest] = line.split('\t', 3);
  const scope = decodeScope(encodedScope ?? '');
  let stream = streams.get(scope);
  if (stream === undefined) {
    stream = { scope, date: [], monotonic: [], timers: [], draws: [], gaps: [] };
    streams.set(scope, stream);
  }
  const items = (rest ?? '').split(',');
  if (kind === 'd') readClock(items, stream.date, stream);
  else if (kind === 'p') readClock(items, stream.monotonic, stream);
  else if (kind === 't') readTimers(items, stream);
  else if (kind === 'c') readDraws(items, stream);
  else stream.gaps.push(kind === '!' ? (rest ?? '') : `unknown ambient line ${JSON.stringify(kind)}`);
}

function decodeScope(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A forged scope stays as it is written; it matches nothing.
    return text;
  }
}

/** Most reads that one repeat mark may stand for, so that a forged log cannot fill the memory. */
const MAX_REPEAT = 1_000_000;

function readClock(items: string[], into: ClockRead[], stream: AmbientStream): void {
  let after = 0;
  let value = 0;
  for (const item of items) {
    // A pair may begin with the digit `x` too (33 in base 36); only a repeat mark has no colon.
    if (item.startsWith('x') && !item.includes(':')) {
      const repeat = Math.min(parseInt(item.slice(1), 36) || 0, MAX_REPEAT);
      for (let i = 0; i < repeat; i++) into.push({ after, value });
      continue;
    }
    const [a, v] = item.split(':');
    const deltaAfter = parseInt(a ?? '', 36);
    const deltaValue = parseInt(v ?? '', 36);
    if (Number.isNaN(deltaAfter) || Number.isNaN(deltaValue)) {
      stream.gaps.push('a clock read is damaged');
      continue;
    }
    after += deltaAfter;
    value += deltaValue;
    into.push({ after, value });
  }
}

function readTimers(items: string[], stream: AmbientStream): void {
  for (const item of items) {
    const [name, seq, ms] = item.split(':');
    const dot = name?.lastIndexOf('.') ?? -1;
    const firing = {
      key: name?.slice(0, dot) ?? '',
      ordinal: parseInt(name?.slice(dot + 1) ?? '', 36),
      seq: parseInt(seq ?? '', 36),
      ms: parseInt(ms ?? '', 36),
    };
    if (dot < 0 || Number.isNaN(firing.ordinal + firing.seq + firing.ms)) stream.gaps.push('a timer firing is damaged');
    else stream.timers.push(firing);
  }
}

function readDraws(items: string[], stream: AmbientStream): void {
  for (const item of items) {
    const colon = item.indexOf(':');
    if (colon < 0) stream.gaps.push('a draw is damaged');
    else stream.draws.push({ op: item.slice(0, colon), bytes: Buffer.from(item.slice(colon + 1), 'base64') });
  }
}
