import type { ExchangeRecord } from '../../instrumentation/schema/records';
import { recorderWith } from './recorder-samples';

const INFO = { transport: 'undici', method: 'POST', url: 'http://a.b/v1/x?q=1', headers: [['a', 'b']] } as const;
const turn = (): Promise<void> => new Promise((done) => setImmediate(done));

describe('the recorder', () => {
  it('writes process and session before the first call, and nothing before there is one', () => {
    const { recorder, records } = recorderWith();
    recorder.close({ exitCode: 0 });
    expect(records).toEqual([]);
    recorder.start(INFO)?.end('ok');
    expect(records.map(({ kind }) => kind)).toEqual(['process', 'session', 'http']);
  });

  it('keeps bytes, times and order of an exchange', async () => {
    const { recorder, calls, time } = recorderWith();
    const exchange = recorder.start(INFO);
    exchange?.requestBody(Buffer.from('que'));
    exchange?.requestBody(Buffer.from('stion'));
    await turn();
    time.now = 1_010;
    exchange?.responseHead({ status: 200, statusText: 'OK', headers: [['X', 'y']] });
    await turn();
    time.now = 1_020;
    exchange?.chunk(new Uint8Array(Buffer.from('_one_')).subarray(1, 4));
    await turn();
    exchange?.chunk(Buffer.from('two'));
    exchange?.trailers([['t', '1']]);
    await turn();
    exchange?.end('ok');
    const [call] = calls() as ExchangeRecord[];
    expect(call).toMatchObject({ name: 'POST /v1/x', startMs: 1_000, endMs: 1_020, outcome: 'ok', sessionId: 'run-1' });
    expect(call?.request.body.toString()).toBe('question');
    expect(call?.response).toMatchObject({ status: 200, headMs: 10, trailers: [['t', '1']] });
    expect(call?.response?.chunks.map(({ ms, bytes }) => [ms, bytes.toString()])).toEqual([[20, 'one'], [20, 'two']]); // prettier-ignore
    const order = [call?.seqStart, call?.response?.headSeq, ...(call?.response?.chunks ?? []).map(({ seq }) => seq), call?.seqEnd]; // prettier-ignore
    expect(order).toEqual([...order].sort((a, b) => Number(a) - Number(b)));
    expect(new Set(order).size).toBe(order.length);
  });

  it('gives what comes in one burst one number', () => {
    const { recorder, calls } = recorderWith();
    const exchange = recorder.start(INFO);
    exchange?.responseHead({ status: 200, statusText: '', headers: [] });
    exchange?.chunk(Buffer.from('a'));
    exchange?.end('ok');
    const [call] = calls() as ExchangeRecord[];
    expect(new Set([call?.response?.headSeq, call?.response?.chunks[0]?.seq, call?.seqEnd]).size).toBe(1);
  });

  it('counts one end: later calls of any method change nothing', () => {
    const { recorder, calls } = recorderWith();
    const exchange = recorder.start(INFO);
    exchange?.end('aborted', { name: 'AbortError', message: 'x' });
    exchange?.chunk(Buffer.from('late'));
    exchange?.responseHead({ status: 500, statusText: '', headers: [] });
    exchange?.end('ok');
    expect(calls()).toHaveLength(1);
    expect(calls()[0]).toMatchObject({ outcome: 'aborted', error: { name: 'AbortError' } });
    expect((calls()[0] as ExchangeRecord).response).toBeUndefined();
  });

  it.each([
    [200, 'ok'],
    [399, 'ok'],
    [400, 'error'],
    [503, 'error'],
  ] as const)('takes an answer of status %i for %s', (status, outcome) => {
    const { recorder, calls } = recorderWith();
    const exchange = recorder.start(INFO);
    exchange?.responseHead({ status, statusText: '', headers: [] });
    exchange?.end('ok');
    expect(calls()[0]?.outcome).toBe(outcome);
  });

  it('ends what is open with the process, as open, and says how many calls there were', () => {
    const { recorder, records, calls } = recorderWith();
    recorder.start(INFO);
    recorder.start(INFO)?.end('cut');
    recorder.close({ exitCode: 3 });
    expect(calls().map(({ outcome }) => outcome)).toEqual(['cut', 'open']);
    expect(records.at(-1)).toMatchObject({ kind: 'exit', exitCode: 3, calls: 2 });
  });

  it('writes the end once more only when something came after', () => {
    const { recorder, records } = recorderWith();
    recorder.start(INFO)?.end('ok');
    const ends = (): number => records.filter(({ kind }) => kind === 'exit').length;
    recorder.close({ exitCode: 0 });
    recorder.close({ exitCode: 0 });
    expect(ends()).toBe(1);
    recorder.start(INFO)?.end('ok');
    recorder.close({ exitCode: 0 });
    expect(ends()).toBe(2);
  });

  it('starts as many spans as it ends', () => {
    const { recorder, records } = recorderWith();
    for (let i = 0; i < 50; i++) {
      const exchange = recorder.start(INFO);
      if (i % 3 !== 0) exchange?.end(i % 2 === 0 ? 'ok' : 'cut');
    }
    recorder.close({ exitCode: 0 });
    const ids = records.filter(({ kind }) => kind === 'http').map(({ spanId }) => spanId);
    expect([ids.length, new Set(ids).size]).toEqual([50, 50]);
  });

  it('sees neither its own work nor what is excluded', () => {
    const { recorder } = recorderWith({ filter: { records: ({ url }) => !url.includes('secret') } });
    expect(recorder.scopes.untracked(() => recorder.start(INFO))).toBeUndefined();
    expect(recorder.start({ ...INFO, url: 'http://a.b/secret' })).toBeUndefined();
  });

  it.each(['redact', 'describe', 'filter'] as const)('lets no fault of %s reach the program', (part) => {
    const throws = (): never => {
      throw new Error('fault');
    };
    const { recorder, diagnostics } = recorderWith({ [part]: part === 'filter' ? { records: throws } : throws });
    expect(() => {
      recorder.start(INFO)?.end('ok');
      recorder.close({ exitCode: 0 });
    }).not.toThrow();
    expect(Object.values(diagnostics.failures)).toEqual([1]);
  });

  it('sends what was read of the surroundings along with the next call', () => {
    const { recorder, calls } = recorderWith();
    recorder.ambient.clockRead('d', '', { after: 0, value: 5 });
    recorder.start(INFO)?.end('ok');
    recorder.start(INFO)?.end('ok');
    expect(calls().map(({ ambient }) => ambient)).toEqual([['d\t\t0:5'], undefined]);
  });
});
