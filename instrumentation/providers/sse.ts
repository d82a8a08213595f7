/** One event of a `text/event-stream` body. */
export interface SseEvent {
  /** `message` when the stream names none. */
  readonly event: string;
  readonly data: string;
}

/**
 * Reads a whole or cut event stream by the rules of the WHATWG HTML standard (9.2.6), with one difference: an event at
 * the end without its blank line is given too, as the SDKs do, because a cut stream may end there.
 */
export function parseSse(text: string): SseEvent[] {
  const events: SseEvent[] = [];
  let event = '';
  let data: string[] = [];
  const dispatch = (): void => {
    if (data.length > 0) events.push({ event: event || 'message', data: data.join('\n') });
    event = '';
    data = [];
  };
  for (const line of lines(text)) {
    if (line === '') {
      dispatch();
      continue;
    }
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const rest = colon < 0 ? '' : line.slice(colon + 1);
    const value = rest.startsWith(' ') ? rest.slice(1) : rest;
    // A comment has the empty field name; `id` and `retry` say nothing about the content.
    if (field === 'data') data.push(value);
    else if (field === 'event') event = value;
  }
  dispatch();
  return events;
}

/** Lines end with LF, CRLF or CR; a byte order mark at the start does not count. */
function* lines(text: string): Generator<string> {
  const ending = /\r\n|\n|\r/g;
  let start = text.startsWith('\uFEFF') ? 1 : 0;
  ending.lastIndex = start;
  for (let match = ending.exec(text); match !== null; match = ending.exec(text)) {
    yield text.slice(start, match.index);
    start = ending.lastIndex;
  }
  if (start < text.length) yield text.slice(start);
}

/** True when a body is an event stream, by its content type or, where a provider sends none, by how it begins. */
export function isEventStream(contentType: string, text: string): boolean {
  // Gateways send an error as plain JSON under the content type of the stream that was asked for.
  if (/^\uFEFF?\s*[{[]/.test(text)) return false;
  return /text\/event-stream/i.test(contentType) || /^\uFEFF?(?:data:|event:|id:|retry:|:)/.test(text);
}

/** One event as wire bytes. */
export function encodeSse(data: unknown, event?: string): Buffer {
  const text = typeof data === 'string' ? data : JSON.stringify(data);
  const body = text.split(/\r\n|\n|\r/).map((line) => `data: ${line}\n`);
  return Buffer.from(`${event === undefined ? '' : `event: ${event}\n`}${body.join('')}\n`);
}
