import { providers } from '../../instrumentation/providers/registry';
import type { Provider, ProviderRequest } from '../../instrumentation/providers/provider';
import type { ExecutionLog, ExecutionTurn } from '../../instrumentation/schema/execution-log';
import type {
  CallIdentity,
  CallRecord,
  DecisionRecord,
  ExchangeRecord,
  Gap,
  HeaderList,
  ObservationRecord,
  Outcome,
  Recording,
  ToolRecord,
} from '../../instrumentation/schema/records';
import { encodeTyped } from '../../instrumentation/schema/typed-json';
import { FORMAT_VERSION } from '../../instrumentation/schema/version';
import { isObject, type JsonObject } from './checked';

/** Attribute of calls that were made from readable turns: they are found by content, since scope and URL are unknown. */
export const REBUILT = 'reenact.rebuilt';

/** Whether a call was made from a readable turn, without recorded bytes. */
export function isRebuilt(call: CallRecord): boolean {
  return call.attributes?.[REBUILT] === true;
}

/** Where SDKs send the requests of a wire format when they are told nothing else. */
const ENDPOINTS = [
  'https://api.openai.com/v1/chat/completions',
  'https://api.openai.com/v1/responses',
  'https://api.anthropic.com/v1/messages',
  'https://api.openai.com/v1/embeddings',
] as const;

interface Step {
  readonly startMs: number;
  readonly endMs: number;
  readonly make: (identity: CallIdentity) => CallRecord;
  readonly kind: CallIdentity['kind'];
  readonly name: string;
  readonly outcome: Outcome;
  readonly agentId: string | undefined;
}

/**
 * Makes the records that a log without bytes (written by hand, by another tool, or by `RecordingClient`) allows: a
 * replay finds them by content.
 */
export function recordingFromTurns(log: ExecutionLog): Recording {
  const gaps: Gap[] = [...(log.gaps ?? [])];
  const steps = [
    ...log.turns.filter((turn) => turn.inferred !== true).map((turn) => turnStep(turn, gaps, log)),
    ...(log.observations ?? []).map(observationStep),
    ...(log.decisions ?? []).map(decisionStep),
  ];
  return {
    formatVersion: FORMAT_VERSION,
    runId: log.runId ?? '',
    processes: [],
    exits: [],
    sessions: [],
    calls: placeSteps(steps, log),
    ambient: [],
    gaps,
  };
}

/** Gives each step its place in one total order, by the times that the log has. */
function placeSteps(steps: readonly Step[], log: ExecutionLog): CallRecord[] {
  const events = steps.flatMap((step, index) => [
    { ms: step.startMs, index, end: 0 },
    { ms: Math.max(step.startMs, step.endMs), index, end: 1 },
  ]);
  events.sort((a, b) => a.ms - b.ms || a.index - b.index || a.end - b.end);
  const order = new Map(events.map((event, seq) => [event.index * 2 + event.end, seq + 1]));
  const traceId = log.traceIds?.[0] ?? '0'.repeat(32);
  const calls = steps.map((step, index) =>
    step.make({
      kind: step.kind,
      traceId,
      spanId: `rebuilt-${log.sessionId}-${index + 1}`,
      runId: log.runId ?? '',
      processPath: '0',
      sessionId: log.sessionId,
      ...(step.agentId !== undefined && { agentId: step.agentId }),
      scope: '',
      seqStart: order.get(index * 2) ?? 0,
      seqEnd: order.get(index * 2 + 1) ?? 0,
      startMs: step.startMs,
      endMs: step.endMs,
      outcome: step.outcome,
      name: step.name,
      attributes: { [REBUILT]: true },
    }),
  );
  return calls.sort((a, b) => a.seqStart - b.seqStart);
}

function turnStep(turn: ExecutionTurn, gaps: Gap[], log: ExecutionLog): Step {
  const startMs = Date.parse(turn.timestamp) || 0;
  const agentId = turn.agentId ?? log.agentId;
  const times = { startMs, endMs: startMs + turn.durationMs, agentId };
  return turn.type === 'tool_call' ? toolStep(turn, times) : llmStep(turn, times, gaps);
}

type Times = Pick<Step, 'startMs' | 'endMs' | 'agentId'>;

const OUTCOMES: readonly string[] = ['ok', 'error', 'aborted', 'cut', 'open'] satisfies Outcome[];

function outcomeOf(turn: ExecutionTurn, failed: boolean): Outcome {
  if (turn.outcome !== undefined && OUTCOMES.includes(turn.outcome)) return turn.outcome as Outcome;
  return failed ? 'error' : 'ok';
}

function toolStep(turn: ExecutionTurn, times: Times): Step {
  const name = String(turn.request['name'] ?? '');
  const failed = Object.hasOwn(turn.response, 'error') && !Object.hasOwn(turn.response, 'result');
  const value = failed
    ? { thrown: thrownJson(turn.response['error']) }
    : { result: encodeTyped(turn.response['result']).json };
  return {
    ...times,
    kind: 'tool',
    name: `execute_tool ${name}`,
    outcome: outcomeOf(turn, failed),
    make: (identity): ToolRecord => ({
      ...identity,
      kind: 'tool',
      tool: name,
      args: encodeTyped(turn.request['args']).json,
      ...value,
      synchronous: false,
      replay: 'substitute',
    }),
  };
}

function thrownJson(error: unknown): unknown {
  if (!isObject(error)) return encodeTyped(new Error(String(error))).json;
  const made = new Error(String(error['message'] ?? ''));
  if (typeof error['name'] === 'string') Object.defineProperty(made, 'name', { value: error['name'] });
  if (error['code'] !== undefined) Object.assign(made, { code: error['code'] });
  return encodeTyped(made).json;
}

function llmStep(turn: ExecutionTurn, times: Times, gaps: Gap[]): Step {
  const found = providerOf(turn);
  const failed = turn.error !== undefined || Object.hasOwn(turn.response, 'error');
  const status = turn.status ?? (failed ? 500 : 200);
  gaps.push({
    code: 'NO_RECORDED_BYTES',
    message: `turn ${turn.turnId}: no recorded bytes, the call is rebuilt from the turn`,
  });
  const { contentType, pieces } = encode(turn, found, status);
  return {
    ...times,
    kind: 'llm',
    name: `chat ${String(turn.request['model'] ?? '')}`.trim(),
    outcome: outcomeOf(turn, status >= 400),
    make: (identity): ExchangeRecord => ({
      ...identity,
      kind: 'llm',
      transport: 'undici',
      ...(found !== undefined && { provider: found.provider.id }),
      request: {
        method: 'POST',
        url: found?.request.url.href ?? 'https://unknown.invalid/',
        headers: [['content-type', 'application/json']],
        body: Buffer.from(JSON.stringify(turn.request), 'utf8'),
      },
      ...(isAnswered(turn) && {
        response: {
          status,
          statusText: '',
          headers: [['content-type', contentType]] as HeaderList,
          headSeq: identity.seqEnd,
          headMs: turn.durationMs,
          chunks: pieces.map((bytes) => ({ seq: identity.seqEnd, ms: turn.durationMs, bytes })),
          trailers: [],
        },
      }),
      ...(turn.error !== undefined && { error: turn.error }),
    }),
  };
}

/** A call that failed without an answer has its error and no status. */
function isAnswered(turn: ExecutionTurn): boolean {
  return !(turn.error !== undefined && turn.status === undefined);
}

/** The wire format that takes this request and gives this response: one that finds an answer in it, if any does. */
function providerOf(turn: ExecutionTurn): { provider: Provider; request: ProviderRequest } | undefined {
  const matching = ENDPOINTS.flatMap((url) => {
    const request: ProviderRequest = { method: 'POST', url: new URL(url), headers: [], body: turn.request };
    const provider = (providers as readonly Provider[]).find((candidate) => candidate.matches(request));
    return provider === undefined ? [] : [{ provider, request }];
  });
  const named = matching.find(({ provider }) => provider.id === turn.provider);
  const answering = matching.find(({ provider }) => answers(provider, turn.response));
  return named ?? answering;
}

function answers(provider: Provider, response: JsonObject): boolean {
  try {
    return provider.answerText(response) !== '' || provider.toolCalls(response).length > 0;
  } catch {
    // A provider that cannot read the response is not the one that gave it.
    return false;
  }
}

function encode(turn: ExecutionTurn, found: ReturnType<typeof providerOf>, status: number) {
  if (found !== undefined && status < 400) {
    try {
      return found.provider.encodeResponse(turn.response, found.request);
    } catch {
      // A response that the provider cannot write goes out as the JSON that it is.
    }
  }
  return { contentType: 'application/json', pieces: [Buffer.from(JSON.stringify(turn.response), 'utf8')] };
}

function observationStep(entry: NonNullable<ExecutionLog['observations']>[number]): Step {
  const startMs = Date.parse(entry.timestamp) || 0;
  const failed = entry.error !== undefined;
  return {
    startMs,
    endMs: startMs,
    agentId: entry.agentId,
    kind: 'observation',
    name: `observe ${entry.key}`,
    outcome: failed ? 'error' : 'ok',
    make: (identity): ObservationRecord => ({
      ...identity,
      kind: 'observation',
      key: entry.key,
      ...(failed ? { thrown: thrownJson(entry.error) } : { value: encodeTyped(entry.value).json }),
      synchronous: false,
    }),
  };
}

function decisionStep(entry: NonNullable<ExecutionLog['decisions']>[number]): Step {
  const startMs = Date.parse(entry.timestamp) || 0;
  return {
    startMs,
    endMs: startMs,
    agentId: entry.agentId,
    kind: 'decision',
    name: `decide ${entry.name}`,
    outcome: 'ok',
    make: (identity): DecisionRecord => ({
      ...identity,
      kind: 'decision',
      decision: entry.name,
      data: encodeTyped(entry.data).json,
    }),
  };
}
