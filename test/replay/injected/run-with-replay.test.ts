import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RecordingClient } from '../../../instrumentation/recording-client';
import type { ExecutionLog } from '../../../instrumentation/schema/execution-log';
import { loadExecutionLog } from '../../../replay/injected/load-execution-log';
import { runWithReplay } from '../../../replay/injected/run-with-replay';
import type { AgentInit, LlmHandler, ToolHandler } from '../../../replay/injected/simulated-agent';

const answers = [{ content: [{ type: 'text', text: 'calling' }] }, { content: [{ type: 'text', text: 'Goodbye.' }] }];

/** Offers a discount unless the coverage is acceptable. */
async function retention(client: RecordingClient): Promise<void> {
  await client.createMessage({ model: 'm', messages: [{ role: 'user', content: 'my coverage is bad' }] });
  const coverage = await client.callTool('check_coverage', { zip: '1' }, () => ({ status: 'poor' }));
  const name = coverage.status === 'poor' ? 'offer_discount' : 'flag_review';
  await client.callTool(name, {}, () => ({ ok: true }));
  await client.createMessage({ model: 'm', messages: [{ role: 'user', content: 'done' }] });
}

async function recorded(): Promise<ExecutionLog> {
  let n = 0;
  const create = (): unknown => answers[n++];
  const client = new RecordingClient({ sessionId: 'c-1', client: { messages: { create } } });
  await retention(client);
  return client.getExecutionLog();
}

const code = (error: unknown): unknown => (error as { code?: unknown }).code;

test('a function of a client passes when what is asserted was done', async () => {
  const result = await runWithReplay({
    agent: retention,
    executionLog: await recorded(),
    assertion: { type: 'tool_call_present', toolName: 'offer_discount' },
  });
  expect(result).toMatchObject({ passed: true, report: { faithful: true, total: 4 } });
});

test('an override changes what the agent does, and the assertion says what was found', async () => {
  const executionLog = await recorded();
  const result = await runWithReplay({
    agent: retention,
    executionLog,
    toolOverrides: { check_coverage: { status: 'acceptable' }, flag_review: { ok: true } },
    assertions: ['calls:offer_discount', { type: 'tool_call_count', toolName: 'check_coverage', equals: 1 }],
  });
  expect(result.passed).toBe(false);
  expect(result.actual).toContain('flag_review');
});

test('without an assertion a divergence fails', async () => {
  const edited = (client: RecordingClient): Promise<unknown> => client.createMessage({ model: 'other', messages: [] });
  const result = await runWithReplay({ agent: edited, executionLog: await recorded() });
  expect(result.passed).toBe(false);
  expect(result.actual).toMatch(/diverged=1.*REPLAY_|diverged=1/);
  expect(result.report.program.exitCode).toBe(1);
});

test('a function as assertion gets the logs and the report', async () => {
  const result = await runWithReplay({
    agent: retention,
    executionLog: await recorded(),
    assertion: ({ logs, report }) => logs[0]?.turns.length === 4 && report?.faithful === true,
  });
  expect(result.passed).toBe(true);
});

test("an agent's own error is told with the failed assertion", async () => {
  const broken = (client: RecordingClient): never => {
    throw new TypeError(`bug ${typeof client}`);
  };
  const result = await runWithReplay({ agent: broken, executionLog: await recorded() });
  expect(result.passed).toBe(false);
  expect(result.actual).toContain('the agent threw TypeError: bug object');
});

class HandlerAgent {
  static made: AgentInit[] = [];
  private llm!: LlmHandler;
  private tool!: ToolHandler;
  constructor(init: AgentInit) {
    HandlerAgent.made.push({ agentId: init.agentId, ...(init.rngSeed !== undefined && { rngSeed: init.rngSeed }) });
  }
  registerLlmHandler(handler: LlmHandler): void {
    this.llm = handler;
  }
  registerToolHandler(handler: ToolHandler): void {
    this.tool = handler;
  }
  async run(): Promise<void> {
    await this.llm('turn-1', { model: 'm', messages: [{ role: 'user', content: 'my coverage is bad' }] });
    await this.tool('turn-2', 'check_coverage', { zip: '1' });
    await this.tool('turn-3', 'offer_discount', {});
    await this.llm('turn-4', { model: 'm', messages: [{ role: 'user', content: 'done' }] });
  }
}

test.each([
  ['a class', HandlerAgent],
  ['an arrow factory', (init: AgentInit) => new HandlerAgent(init)],
  ['a named factory', { factory: (init: AgentInit) => new HandlerAgent(init) }],
])('%s of agents with handlers is simulated, each agent made once', async (_name, agent) => {
  HandlerAgent.made = [];
  const result = await runWithReplay({ agent, executionLog: await recorded(), assertion: 'calls:offer_discount' });
  expect(result).toMatchObject({ passed: true, report: { faithful: true } });
  expect(HandlerAgent.made).toEqual([{ agentId: 'c-1' }]);
});

test('a log is loaded from a file', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'run-with-replay-')), 'c.log.jsonl');
  writeFileSync(file, `${JSON.stringify(await recorded())}\n`);
  expect((await loadExecutionLog(file)).sessionId).toBe('c-1');
  expect((await runWithReplay({ agent: retention, executionLog: file })).passed).toBe(true);
  expect(await loadExecutionLog(`${file}#nobody`).catch(code)).toBe('REF_NOT_FOUND');
});

test.each([
  ['no agent', { agent: undefined }, 'USAGE'],
  ['a misspelt assertion', { agent: retention, assertion: { type: 'tool_call_presnt' } }, 'ASSERTION_INVALID'],
  ['a policy that needs a command', { agent: retention, onDivergence: 'live-from-here' }, 'UNKNOWN_POLICY'],
  ['an override that names nothing', { agent: retention, toolOverrides: { 'x#9': 1 } }, 'TURN_NOT_FOUND'],
  ['a log that is not there', { agent: retention, executionLog: 'no-such.log.jsonl' }, 'FILE_NOT_FOUND'],
])('%s is refused', async (_name, options, expected) => {
  const executionLog = await recorded();
  expect(await runWithReplay({ executionLog, ...options } as never).catch(code)).toBe(expected);
});
