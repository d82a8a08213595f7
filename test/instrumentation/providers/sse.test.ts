import { encodeSse, isEventStream, parseSse } from '../../../instrumentation/providers/sse';

describe('parseSse', () => {
  it.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ])('reads events whose lines end with %s', (_name, eol) => {
    const text = ['event: a', 'data: 1', '', 'data: 2', '', ''].join(eol);
    expect(parseSse(text)).toEqual([
      { event: 'a', data: '1' },
      { event: 'message', data: '2' },
    ]);
  });

  // The example streams of the WHATWG HTML standard, section 9.2.6.
  it('joins data lines with a line feed', () => {
    expect(parseSse('data: YHOO\ndata: +2\ndata: 10\n\n')).toEqual([{ event: 'message', data: 'YHOO\n+2\n10' }]);
  });

  it('skips comments, and events without data', () => {
    expect(
      parseSse(': test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n'),
    ).toEqual(['first event', 'second event', ' third event'].map((data) => ({ event: 'message', data })));
    expect(parseSse('event: lonely\n\ndata: x\n\n')).toEqual([{ event: 'message', data: 'x' }]);
  });

  it('reads a field without a colon as an empty value', () => {
    expect(parseSse('data\n\ndata\ndata\n\n')).toEqual([
      { event: 'message', data: '' },
      { event: 'message', data: '\n' },
    ]);
  });

  it('ignores a byte order mark at the start', () => {
    expect(parseSse('\uFEFFdata: x\n\n')).toEqual([{ event: 'message', data: 'x' }]);
  });

  it('gives the last event of a stream that ends without a blank line', () => {
    expect(parseSse('data: {"a":1}')).toEqual([{ event: 'message', data: '{"a":1}' }]);
    expect(parseSse('data: {"a":1}\n')).toEqual([{ event: 'message', data: '{"a":1}' }]);
  });

  it('reads a megabyte of carriage returns in linear time', () => {
    const start = process.cpuUsage().user;
    expect(parseSse('\r'.repeat(1_000_000) + 'data: x')).toHaveLength(1);
    expect(process.cpuUsage().user - start).toBeLessThan(5_000_000);
  });
});

describe('isEventStream', () => {
  it('goes by the content type, and by the text where a provider sends none', () => {
    expect(isEventStream('text/event-stream; charset=utf-8', 'data: x\n\n')).toBe(true);
    expect(isEventStream('', ': comment\n\ndata: x\n\n')).toBe(true);
    expect(isEventStream('', '{"data": 1}')).toBe(false);
  });

  it('sees a JSON error under the content type of a stream', () => {
    expect(isEventStream('text/event-stream', ' {"error":{"message":"no"}}')).toBe(false);
  });
});

describe('encodeSse', () => {
  it('writes each line of the data as a field of its own', () => {
    expect(encodeSse('a\nb', 'note').toString()).toBe('event: note\ndata: a\ndata: b\n\n');
  });
});
