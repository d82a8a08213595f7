import { IdSource } from '../../instrumentation/ids';
import { shapeOfClient } from '../../instrumentation/llm-client';
import type { LlmClient } from '../../instrumentation/llm-client';
import { originals } from '../../instrumentation/originals';
import type { RecordingClient } from '../../instrumentation/recording-client';
import { ReenactError } from '../../instrumentation/schema/errors';
import type { ExecutionLog } from '../../instrumentation/schema/execution-log';
import { TurnLog } from '../../instrumentation/turn-log';
import { checkLog } from '../log/log-shape';
import { verifyLog } from '../log/verify-log';
import type { ReplayDocument } from '../player/report';
import { CallOverrides } from './call-overrides';
import type { Overrides } from './call-overrides';
import { InjectedCalls } from './injected-calls';
import type { InjectedPolicy, MatchStrategy } from './injected-calls';
import { RecordedTurns } from './recorded-turns';
import { ReplayClient } from './replay-client';
import { ReplayTally } from './replay-tally';
import type { ErrorMaker } from './recorded-answer';

export interface ReplayEngineOptions {
  /**
   * `causal` (default): the same question, and not before the answers it had waited for; `content`: the same question,
   * in any order; `position`: the n-th call is the n-th turn.
   */
  readonly match?: MatchStrategy;
  /**
   * For a call that no recording answers exactly. `fail` (default): the call rejects; `recorded`: it gets the recorded
   * answer of its place; `live`: it is made for real, with `client` or the tool's own executor.
   */
  readonly onDivergence?: InjectedPolicy;
  readonly client?: LlmClient;
  readonly toolOverrides?: Overrides;
  readonly llmOverrides?: Overrides;
}

/**
 * Replays a log to an agent that takes its client by injection.
 *
 * @example
 * const engine = new ReplayEngine(log, { toolOverrides: { check_coverage: { coverage: 'acceptable' } } });
 * await agent(engine.createReplayClient());
 * console.log(engine.report().faithful);
 */
export class ReplayEngine {
  private readonly source: ExecutionLog;
  private readonly options: ReplayEngineOptions;
  private readonly turns: RecordedTurns;
  private readonly tally = new ReplayTally();
  private readonly calls: InjectedCalls;
  private readonly log: TurnLog;
  private readonly runId = new IdSource().runId(originals.dateNow());

  /**
   * @throws ReenactError LOG_INVALID, LOG_TAMPERED, LOG_HAS_NO_CALLS, UNKNOWN_POLICY, LIVE_CLIENT_MISSING, SET_INVALID,
   * TURN_NOT_FOUND
   */
  constructor(log: ExecutionLog, options: ReplayEngineOptions = {}) {
    this.source = checkedLog(log);
    this.options = options;
    const { match = 'causal', onDivergence = 'fail' } = options;
    checkOptions(match, onDivergence, options.client);
    this.turns = new RecordedTurns(this.source.turns);
    this.log = new TurnLog({ ...this.source });
    this.calls = new InjectedCalls({
      turns: this.turns,
      overrides: new CallOverrides(this.turns, options),
      tally: this.tally,
      match,
      onDivergence,
      makeError: errorMakerOf(options.client),
    });
  }

  /**
   * A client with the shape of the RecordingClient. Clients of one engine share its recordings, each of which answers
   * one call.
   */
  createReplayClient(): RecordingClient {
    const { client } = this.options;
    return new ReplayClient({
      source: this.source,
      calls: this.calls,
      log: this.log,
      live: (...args) => {
        if (client === undefined) throw new ReenactError('LIVE_CLIENT_MISSING', 'there is no client for a live call');
        return shapeOfClient(client).create(...args);
      },
    });
  }

  /** How the replay has gone so far: the document of `reenact replay`. */
  report(): ReplayDocument {
    return this.tally.document({
      ref: this.source.sessionId,
      runId: this.runId,
      logs: [this.source],
      turns: [this.turns],
      causal: (this.options.match ?? 'causal') === 'causal',
      exitCode: 0,
      replayLogs: [this.log.toLog({ runId: this.runId, replayOf: this.source.runId ?? this.source.sessionId })],
    });
  }
}

const STRATEGIES: readonly string[] = ['causal', 'content', 'position'] satisfies MatchStrategy[];
const POLICIES: readonly string[] = ['fail', 'recorded', 'live'] satisfies InjectedPolicy[];

function checkOptions(match: string, onDivergence: string, client: LlmClient | undefined): void {
  if (!STRATEGIES.includes(match))
    throw new ReenactError('USAGE', `unknown match ${JSON.stringify(match)}`, {
      hint: 'Use causal, content or position.',
    });
  if (!POLICIES.includes(onDivergence))
    throw new ReenactError('UNKNOWN_POLICY', `unknown onDivergence ${JSON.stringify(onDivergence)}`, {
      hint: 'Use fail, recorded or live.',
    });
  if (onDivergence === 'live' && client === undefined)
    throw new ReenactError('LIVE_CLIENT_MISSING', "onDivergence 'live' was asked for without a client");
}

function checkedLog(given: ExecutionLog): ExecutionLog {
  const log = checkLog(given);
  if (log.recording !== undefined) verifyLog(log);
  if (log.turns.length === 0)
    throw new ReenactError('LOG_HAS_NO_CALLS', `the log ${JSON.stringify(log.sessionId)} holds no turn`);
  return log;
}

/** The SDKs make their errors with a static function of their error class; with a client at hand it is theirs again. */
function errorMakerOf(client: LlmClient | undefined): ErrorMaker | undefined {
  const { APIError } = (client?.constructor ?? {}) as { APIError?: { generate?: unknown } };
  const generate = APIError?.generate;
  if (typeof generate !== 'function') return undefined;
  return (status, body) => generate.call(APIError, status, body, undefined, new Headers()) as unknown;
}
