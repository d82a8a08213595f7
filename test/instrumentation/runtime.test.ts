import type { CallGate } from '../../instrumentation/call-gate';
import { liveGate } from '../../instrumentation/call-gate';
import { callArguments } from '../../instrumentation/function-calls';
import { Runtime } from '../../instrumentation/runtime';
import type { ToolRecord } from '../../instrumentation/schema/records';
import { recorderWith } from './recorder-samples';

const tool = (name: string) => ({ kind: 'tool' as const, name, replay: 'substitute' as const });
const call = (args: unknown[]) => ({ thisArg: undefined, args });

function runtimeWith(gate: CallGate = liveGate) {
  const parts = recorderWith();
  return { ...parts, runtime: new Runtime(parts.recorder, gate) };
}

describe('arguments of a tool', () => {
  it.each([
    ['one object', [{ a: 1 }], { a: 1 }],
    ['no argument', [], []],
    ['one text', ['x'], ['x']],
    ['one array', [[1]], [[1]]],
    ['null', [null], [null]],
    ['two objects', [{ a: 1 }, { b: 2 }], [{ a: 1 }, { b: 2 }]],
  ])('%s', (_name, given, expected) => {
    expect(callArguments(given)).toEqual(expected);
  });
});

describe('a tool call', () => {
  it('returns the very promise of the function, and records its value', async () => {
    const { runtime, calls } = runtimeWith();
    const promise = Promise.resolve({ ok: 1 });
    expect(runtime.call(tool('f'), () => promise, call([{ a: 1 }]))).toBe(promise);
    await promise;
    await Promise.resolve();
    expect(calls()).toMatchObject([{ kind: 'tool', tool: 'f', args: { a: 1 }, result: { ok: 1 }, synchronous: false }]);
  });

  it('passes this on, and stays synchronous', () => {
    const { runtime, calls } = runtimeWith();
    const self = {};
    const result = runtime.call(tool('f'), function (this: unknown) { return this === self }, { thisArg: self, args: [] }); // prettier-ignore
    expect(result).toBe(true);
    expect(calls()).toMatchObject([{ result: true, synchronous: true, outcome: 'ok' }]);
  });

  it('throws and rejects with the very error of the function', async () => {
    const { runtime, calls } = runtimeWith();
    const error = Object.assign(new Error('no'), { code: 'E_NO' });
    expect(() => runtime.call(tool('f'), () => { throw error }, call([]))).toThrow(error); // prettier-ignore
    await expect(runtime.call(tool('f'), () => Promise.reject(error), call([]))).rejects.toBe(error);
    expect(calls().map(({ error: recorded }) => recorded)).toEqual(Array(2).fill({ name: 'Error', message: 'no', code: 'E_NO' })); // prettier-ignore
  });

  it('records the arguments as they were when it was called', () => {
    const { runtime, calls } = runtimeWith();
    const args = { list: [1] };
    runtime.call(tool('f'), () => args.list.push(2), call([args]));
    expect((calls()[0] as ToolRecord).args).toEqual({ list: [1] });
  });

  it('is the parent of the calls made in it, through asynchronous code', async () => {
    const { runtime, calls } = runtimeWith();
    const inner = (): Promise<number> => runtime.call(tool('inner'), async () => 1, call([])) as Promise<number>;
    const outer = async (): Promise<number> => {
      await new Promise((done) => setTimeout(done, 1));
      return inner();
    };
    await Promise.all([1, 2].map(() => runtime.call(tool('outer'), outer, call([]))));
    await new Promise((done) => setImmediate(done));
    const outers = calls().filter(({ name }) => name.endsWith('outer'));
    const inners = calls().filter(({ name }) => name.endsWith('inner'));
    expect(inners.map(({ parentSpanId }) => parentSpanId).sort()).toEqual(outers.map(({ spanId }) => spanId).sort());
    expect(inners.map(({ scope }) => scope).sort()).toEqual(['t:outer#1', 't:outer#2']);
  });

  it('is answered by the gate instead of running', async () => {
    const never = (): never => {
      throw new Error('it ran');
    };
    const error = new Error('recorded');
    for (const [verdict, expected] of [
      [{ action: 'answer', value: 5 }, 5],
      [{ action: 'promise', promise: Promise.resolve(6) }, 6],
    ] as const) {
      const { runtime } = runtimeWith({ decide: () => verdict, note: () => undefined });
      expect(await runtime.call(tool('f'), never, call([]))).toBe(expected);
    }
    const { runtime } = runtimeWith({ decide: () => ({ action: 'throw', error }), note: () => undefined });
    expect(() => runtime.call(tool('f'), never, call([]))).toThrow(error);
  });

  it('works with arguments and results that cannot be carried, and names the gap', () => {
    const { runtime, calls } = runtimeWith();
    const hostile = { get x(): never { throw new Error('getter') } }; // prettier-ignore
    expect(runtime.call(tool('f'), () => Math.max, call([hostile]))).toBe(Math.max);
    expect(calls()[0]?.attributes?.['reenact.gap']).toContain('function');
  });
});

describe('a session', () => {
  it('holds the calls made in it, and ends when its promise settles', async () => {
    const { runtime, calls, sessions } = runtimeWith();
    const work = async (): Promise<string> => {
      await new Promise((done) => setTimeout(done, 1));
      runtime.call(tool('f'), () => 1, call([]));
      return 'done';
    };
    const ids = ['a', 'b'];
    const options = { agentId: 'ag', agentVersion: '1', promptVersion: '2' };
    expect(await Promise.all(ids.map((id) => runtime.session({ id, ...options }, work)))).toEqual(['done', 'done']);
    await Promise.resolve();
    expect(calls().map(({ sessionId, agentId }) => [sessionId, agentId])).toEqual([['a', 'ag'], ['b', 'ag']]); // prettier-ignore
    expect(sessions().filter(({ phase }) => phase === 'end')).toMatchObject(ids.map((sessionId) => ({ sessionId, agentVersion: '1', promptVersion: '2' }))); // prettier-ignore
  });

  it('gives a session without an id one of its own, and a repeated id a scope of its own', () => {
    const { runtime, calls } = runtimeWith();
    const f = (): unknown => runtime.call(tool('f'), () => 1, call([]));
    runtime.session({}, f);
    runtime.session({}, f);
    runtime.session({ id: 'x/y' }, f);
    runtime.session({ id: 'x/y' }, f);
    expect(calls().map(({ sessionId }) => sessionId)).toEqual(['run-1.1', 'run-1.2', 'x/y', 'x/y']);
    expect(calls().slice(2).map(({ scope }) => scope)).toEqual(['s:x%2Fy', 's:x%2Fy#1']); // prettier-ignore
  });

  it('passes errors through and marks the session as failed', async () => {
    const { runtime, sessions } = runtimeWith();
    const error = new Error('why');
    const fails = async (): Promise<never> => {
      runtime.call(tool('f'), () => 1, call([]));
      throw error;
    };
    await expect(runtime.session({ id: 'a' }, fails)).rejects.toBe(error);
    await Promise.resolve();
    expect(sessions().at(-1)).toMatchObject({ phase: 'end', failure: 'Error: why' });
  });

  it('keeps outcome, details and failure apart from those of others', () => {
    const { runtime, sessions } = runtimeWith();
    const end = (id: string, value: 'resolved' | 'escalated', reason: string): void =>
      runtime.session({ id, metadata: { tier: 1 } }, () => {
        runtime.decision('d', { id });
        runtime.outcome(value, { reason });
      });
    end('a', 'resolved', 'x');
    end('b', 'escalated', 'y');
    expect(sessions().filter(({ phase }) => phase === 'end')).toMatchObject([
      { sessionId: 'a', outcome: 'resolved', metadata: { tier: 1, reason: 'x' } },
      { sessionId: 'b', outcome: 'escalated', metadata: { tier: 1, reason: 'y' } },
    ]);
  });
});
