import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RecordingClient } from '../../../instrumentation/recording-client';
import type { ExecutionLog } from '../../../instrumentation/schema/execution-log';
import { ReplaySimulator } from '../../../replay/injected/replay-simulator';
import type { Agent, AgentInit, EnvHandler, LlmHandler, ToolHandler } from '../../../replay/injected/simulated-agent';
import type { AgentEvent } from '../../../replay/log/events';

const T0 = Date.parse('2026-01-01T00:00:00.000Z');

function event(
  ms: number,
  agent: string,
  rest: [id: string, type: AgentEvent['event_type'], payload: object],
): AgentEvent {
  const [request_id, event_type, payload] = rest;
  return {
    timestamp: new Date(T0 + ms).toISOString(),
    request_id,
    agent_id: agent,
    event_type,
    payload: payload as Record<string, unknown>,
  };
}

async function* streamOf(events: readonly AgentEvent[]): AsyncGenerator<AgentEvent> {
  yield* events;
}

type Body = (agent: TestAgent) => Promise<void> | void;

class TestAgent implements Agent {
  llm!: LlmHandler;
  tool!: ToolHandler;
  env!: EnvHandler;
  now!: () => number;
  random!: () => number;

  constructor(
    readonly init: AgentInit,
    private readonly body: Body,
  ) {}

  registerLlmHandler(handler: LlmHandler): void {
    this.llm = handler;
  }
  registerToolHandler(handler: ToolHandler): void {
    this.tool = handler;
  }
  registerEnvHandler(handler: EnvHandler): void {
    this.env = handler;
  }
  registerClock(now: () => number): void {
    this.now = now;
  }
  registerRandom(random: () => number): void {
    this.random = random;
  }
  run(): Promise<void> | void {
    return this.body(this);
  }
}

const simulate = (events: readonly AgentEvent[], body: Body, options = {}) =>
  new ReplaySimulator(streamOf(events), options).replay((init) => new TestAgent(init, body));

const code = (error: unknown): unknown => (error as { code?: unknown }).code;

const swarm: AgentEvent[] = [
  event(0, 'planner', ['i1', 'agent_init', { rng_seed: 42 }]),
  event(0, 'worker', ['i2', 'agent_init', {}]),
  event(1, 'planner', ['r1', 'llm_request', { messages: ['plan'] }]),
  event(2, 'worker', ['r2', 'llm_request', { messages: ['work'] }]),
  event(3, 'worker', ['r2', 'llm_response', { text: 'W' }]),
  event(4, 'planner', ['r1', 'llm_response', { text: 'P' }]),
  event(5, 'planner', ['r3', 'tool_request', { name: 'shell', args: { c: 'ls' } }]),
  event(6, 'planner', ['r3', 'tool_response', { result: 'files' }]),
  event(7, 'worker', ['r4', 'env_observation', { key: 'row', value: 9 }]),
];

test('two interleaved agents get their answers, seeds and observations', async () => {
  const seen: unknown[] = [];
  const report = await simulate(swarm, async (agent) => {
    const answers =
      agent.init.agentId === 'planner'
        ? [await agent.llm('r1', { messages: ['plan'] }), await agent.tool('r3', 'shell', { c: 'ls' })]
        : [await agent.llm('r2', { messages: ['work'] }), await agent.env('r4', 'row')];
    seen.push([agent.init, answers]);
  });
  expect(seen).toEqual(
    expect.arrayContaining([
      [{ agentId: 'planner', rngSeed: 42 }, [{ text: 'P' }, 'files']],
      [{ agentId: 'worker' }, [{ text: 'W' }, 9]],
    ]),
  );
  expect(report).toMatchObject({ faithful: true, total: 4, exact: 4, sessionIds: ['planner', 'worker'] });
  expect(report.logs.map((log) => log.turns.length)).toEqual([2, 1]);
  expect(report.logs[1]?.observations).toMatchObject([{ key: 'row', value: 9 }]);
});

test('events are read from a file, in any order of lines', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'simulator-')), 'swarm.events.jsonl');
  const lines = [...swarm].reverse().map((item) => JSON.stringify(item));
  writeFileSync(path, `${lines.join('\n')}\n`);
  const report = await new ReplaySimulator(path).replay(
    (init) =>
      new TestAgent(init, async (agent) => {
        if (agent.init.agentId === 'worker') await agent.llm('r2', { messages: ['work'] });
      }),
  );
  expect(report).toMatchObject({ exact: 1, unused: 3, faithful: false });
});

test('execution logs of a client are simulated under their turn ids', async () => {
  const client = new RecordingClient({ sessionId: 's', client: { messages: { create: () => ({ text: 'hi' }) } } });
  await client.createMessage({ messages: ['q'] });
  await client.callTool('t', { a: 1 }, () => 'r');
  const log: ExecutionLog = client.getExecutionLog({ metadata: { rngSeed: 3 } });
  let got: unknown;
  const report = await new ReplaySimulator([log]).replay(
    (init) =>
      new TestAgent(init, async (agent) => {
        got = [init, await agent.llm('turn-1', { messages: ['q'] }), await agent.tool('turn-2', 't', { a: 1 })];
      }),
  );
  expect(got).toEqual([{ agentId: 's', rngSeed: 3 }, { text: 'hi' }, 'r']);
  expect(report.faithful).toBe(true);
});

test('the clock follows the recording and the random numbers its seed', async () => {
  const draws: number[][] = [];
  const times: number[] = [];
  const body: Body = async (agent) => {
    if (agent.init.agentId === 'worker') return;
    draws.push([agent.random(), agent.random()]);
    times.push(agent.now() - T0);
    await agent.llm('r1', { messages: ['plan'] });
    times.push(agent.now() - T0);
    await agent.tool('r3', 'shell', { c: 'ls' });
    times.push(agent.now() - T0);
  };
  await simulate(swarm, body);
  await simulate(swarm, body);
  expect(times.slice(0, 3)).toEqual([0, 4, 6]);
  expect(draws[0]).toEqual(draws[1]);
  expect(draws[0]?.[0]).not.toBe(draws[0]?.[1]);
});

test('a recorded error rejects, and an agent that dies of it is as recorded', async () => {
  const events = [
    event(1, 'a', ['r1', 'tool_request', { name: 't', args: {} }]),
    event(2, 'a', ['r1', 'tool_response', { error: { name: 'RangeError', message: 'too far', code: 'E_FAR' } }]),
  ];
  let error: unknown;
  const report = await simulate(events, async (agent) => {
    await agent.tool('r1', 't', {}).catch((e: unknown) => {
      error = e;
      throw e;
    });
  });
  expect(error).toMatchObject({ name: 'RangeError', message: 'too far', code: 'E_FAR' });
  expect(report).toMatchObject({ faithful: true, program: { exitCode: 1 } });
});

describe('wrong requests', () => {
  const one = (call: (agent: TestAgent) => Promise<unknown>, options = {}) => {
    const got: unknown[] = [];
    return simulate(
      swarm,
      async (agent) => {
        if (agent.init.agentId === 'planner') got.push(await call(agent).catch((error: unknown) => error));
      },
      options,
    ).then((report) => ({ report, got: got[0] }));
  };

  test('other content rejects and the report names the path', async () => {
    const { report, got } = await one((agent) => agent.tool('r3', 'shell', { c: 'rm' }));
    expect(code(got)).toBe('REPLAY_MISMATCH');
    expect(report).toMatchObject({ diverged: 1, faithful: false });
    expect(report.divergences[0]).toMatchObject({ turn: 2, path: '/args/c', expected: 'ls', actual: 'rm' });
  });

  test('another tool under a recorded id rejects', async () => {
    const { got } = await one((agent) => agent.tool('r3', 'delete', { c: 'ls' }));
    expect(code(got)).toBe('REPLAY_MISMATCH');
    expect((got as Error).message).toMatch(/delete.*shell/);
  });

  test('an unknown id rejects', async () => {
    const { got, report } = await one((agent) => agent.llm('r9', { messages: ['plan'] }));
    expect(code(got)).toBe('REPLAY_MISMATCH');
    expect(report.divergences[0]?.rule).toBe('request_id');
  });

  test("another agent's id rejects and names it", async () => {
    const { got } = await one((agent) => agent.llm('r2', { messages: ['work'] }));
    expect(code(got)).toBe('REPLAY_MISMATCH');
    expect((got as Error).message).toContain('worker');
  });

  test('a model call under the id of a tool call rejects', async () => {
    const { got } = await one((agent) => agent.llm('r3', {}));
    expect(code(got)).toBe('REPLAY_MISMATCH');
  });

  test('an id that is used up is exhausted', async () => {
    const { got } = await one(async (agent) => {
      await agent.llm('r1', { messages: ['plan'] });
      return agent.llm('r1', { messages: ['plan'] });
    });
    expect(code(got)).toBe('REPLAY_EXHAUSTED');
  });

  test('with the policy recorded other content gets the recorded answer and is relaxed', async () => {
    const { got, report } = await one((agent) => agent.llm('r1', { messages: ['other'] }), {
      onDivergence: 'recorded',
    });
    expect(got).toEqual({ text: 'P' });
    expect(report).toMatchObject({ relaxed: 1, diverged: 0 });
  });

  test('an override answers, recorded or not', async () => {
    const toolOverrides = { shell: 'nothing' };
    const { got, report } = await one((agent) => agent.tool('r3', 'shell', { c: 'ls' }), { toolOverrides });
    expect(got).toBe('nothing');
    expect(report.overridden).toBe(1);
  });
});

test('a request that was recorded twice under one id answers twice', async () => {
  const events = [1, 2].flatMap((n) => [
    event(n * 10, 'a', ['r', 'tool_request', { name: 't', args: {} }]),
    event(n * 10 + 1, 'a', ['r', 'tool_response', { result: n }]),
  ]);
  const got: unknown[] = [];
  await simulate(events, async (agent) => {
    got.push(
      await agent.tool('r', 't', {}),
      await agent.tool('r', 't', {}),
      await agent.tool('r', 't', {}).catch(code),
    );
  });
  expect(got).toEqual([1, 2, 'REPLAY_EXHAUSTED']);
});

test('a call that was never answered is told by name instead of hanging', async () => {
  const events = [event(1, 'a', ['r1', 'tool_request', { name: 'lost_tool', args: {} }])];
  const report = await simulate(events, async (agent) => void (await agent.tool('r1', 'lost_tool', {})));
  expect(report.faithful).toBe(false);
  expect(report.divergences.find((divergence) => divergence.rule === 'stuck')?.actual).toContain('lost_tool');
});

test('an agent that waits for nothing recorded is named and the others end', async () => {
  const report = await simulate(swarm, async (agent) => {
    if (agent.init.agentId === 'planner') await new Promise(() => undefined);
    await agent.llm('r2', { messages: ['work'] });
  });
  expect(report.divergences.find((divergence) => divergence.rule === 'stuck')?.name).toBe('agent planner');
  expect(report.exact).toBe(1);
});

test('an agent that is never asked for its recorded call does not hang the others', async () => {
  const report = await simulate(swarm, async (agent) => {
    if (agent.init.agentId === 'planner') expect(await agent.tool('r3', 'shell', { c: 'ls' })).toBe('files');
  });
  expect(report).toMatchObject({ exact: 1, unused: 3, diverged: 0 });
});

test("an agent's own error stands in the report and does not reject", async () => {
  const report = await simulate(swarm, (agent) => {
    if (agent.init.agentId === 'planner') throw new TypeError('bug');
  });
  expect(report).toMatchObject({ faithful: false, program: { exitCode: 1 } });
  expect(report.divergences[0]).toMatchObject({ rule: 'agent', actual: 'TypeError: bug' });
});

test.each([
  ['a missing file', 'no-such-file.jsonl', 'FILE_NOT_FOUND'],
  ['a stream of other things', streamOf([{ hello: 1 } as unknown as AgentEvent]), 'EVENTS_INVALID'],
  ['a stream without calls', streamOf([event(0, 'a', ['i', 'agent_init', {}])]), 'LOG_HAS_NO_CALLS'],
  ['no logs', [], 'LOG_HAS_NO_CALLS'],
])('%s is refused', async (_name, source, expected) => {
  const replay = new ReplaySimulator(source).replay((init) => new TestAgent(init, () => undefined));
  expect(await replay.catch(code)).toBe(expected);
});

/** A linear congruential generator (Numerical Recipes), so that a failing run can be made again. */
function generator(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

interface Step {
  readonly ids: readonly string[];
}

/** Agents of steps of parallel calls, played through by a clock: what really happened, and in which order. */
function randomRecording(seed: number): { plan: Map<string, Step[]>; events: AgentEvent[]; order: string[] } {
  const next = generator(seed);
  const events: { ms: number; event: AgentEvent }[] = [];
  const plan = new Map<string, Step[]>();
  const free = new Set<number>();
  // No two events share a millisecond, so the order is not a matter of ties.
  const moment = (from: number): number => {
    let ms = from + 1 + next(40);
    while (free.has(ms)) ms += 1;
    free.add(ms);
    return ms;
  };
  for (let a = 0; a < 1 + next(4); a++) {
    const agent = `agent${a}`;
    let now = 0;
    plan.set(agent, []);
    for (let s = 0; s < 1 + next(4); s++) {
      const ids = Array.from({ length: 1 + next(3) }, (_, i) => `${agent}-${s}-${i}`);
      let issued = now;
      for (const id of ids) {
        issued = moment(issued);
        const payload = { name: 'work', args: { id } };
        events.push({ ms: issued, event: event(issued, agent, [id, 'tool_request', payload]) });
      }
      let end = now;
      for (const id of ids) {
        const done = moment(issued);
        end = Math.max(end, done);
        events.push({ ms: done, event: event(done, agent, [id, 'tool_response', { result: `done ${id}` }]) });
      }
      now = end;
      plan.get(agent)?.push({ ids });
    }
  }
  events.sort((x, y) => x.ms - y.ms);
  const order = events.filter(({ event: e }) => e.event_type === 'tool_response').map(({ event: e }) => e.request_id);
  return { plan, events: events.map(({ event: e }) => e), order };
}

test('500 random interleavings come back in the recorded order, whatever the order of asking', async () => {
  for (let seed = 1; seed <= 500; seed++) {
    const { plan, events, order } = randomRecording(seed);
    const shuffle = generator(seed * 7919);
    const seen: string[] = [];
    const report = await simulate(events, async (agent) => {
      for (const { ids } of plan.get(agent.init.agentId) ?? []) {
        const asked = [...ids].sort(() => shuffle(3) - 1);
        await Promise.all(
          asked.map(async (id) => {
            for (let i = shuffle(4); i > 0; i--) await Promise.resolve();
            expect(await agent.tool(id, 'work', { id })).toBe(`done ${id}`);
            seen.push(id);
          }),
        );
      }
    });
    const possible = order.filter((id) => seen.includes(id));
    expect({ seed, seen }).toEqual({ seed, seen: possible });
    expect({ seed, faithful: report.faithful, diverged: report.diverged }).toEqual({
      seed,
      faithful: true,
      diverged: 0,
    });
  }
});
