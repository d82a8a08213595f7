import { tool } from './api';
import { asProviderRequest, shapeOfClient } from './llm-client';
import type { ClientShape, LlmClient, Message, MessageParams } from './llm-client';
import type { ExecutionLog } from './schema/execution-log';
import { encodeTyped, toPlainJson } from './schema/typed-json';
import { isStream, tapStream } from './stream-tap';
import { TurnLog } from './turn-log';
import type { OpenTurn } from './turn-log';

export type ToolArguments = Record<string, unknown>;
export type ToolExecutor<T> = (args: ToolArguments) => Promise<T> | T;

export interface RecordingClientOptions {
  readonly sessionId: string;
  /** Any client with `messages.create` (Anthropic) or `chat.completions.create` (OpenAI). */
  readonly client: LlmClient;
  readonly agentVersion?: string;
  readonly promptVersion?: string;
  readonly agentId?: string;
}

/** Fields to be spread over the log. */
export interface LogFields {
  outcome?: 'resolved' | 'escalated' | 'abandoned';
  metadata?: Record<string, unknown>;
  [field: string]: unknown;
}

/**
 * Records the conversation of an agent that takes its client by injection: what the client answers and what tools
 * return reaches the agent unchanged, and `getExecutionLog` gives it back as an ExecutionLog.
 *
 * @example
 * const client = new RecordingClient({ sessionId: 'c-42', client: new Anthropic() });
 * await agent(client); // calls client.createMessage(…) and client.callTool(…)
 * const log = client.getExecutionLog({ outcome: 'escalated' });
 */
export class RecordingClient {
  private readonly shape: ClientShape;
  private readonly log: TurnLog;

  /**
   * @param log turns are written there instead of to a log of this client's own; @internal
   * @throws ReenactError USAGE when the client has neither `messages.create` nor `chat.completions.create`
   */
  constructor(options: RecordingClientOptions, log: TurnLog = new TurnLog(options)) {
    this.shape = shapeOfClient(options.client);
    this.log = log;
  }

  /**
   * Asks the model: passes on to the client, with everything after the parameters too, and resolves or rejects with
   * exactly what the client gave. With `stream: true` that is the client's own stream.
   *
   * @example
   * const message = await client.createMessage({ model, max_tokens: 500, messages });
   */
  async createMessage<T = Message>(params: MessageParams, ...rest: unknown[]): Promise<T> {
    const { provider, create } = this.shape;
    const turn = this.log.begin({ type: 'llm_call', request: () => requestOf(params), provider: provider.id });
    let message: unknown;
    try {
      message = await create(params, ...rest);
    } catch (error) {
      turn.failed(error);
      throw error;
    }
    if (isStream(message)) {
      const request = asProviderRequest(provider, { ...params });
      tapStream(message, { turn, provider, request });
    } else turn.answered(message);
    return message as T;
  }

  /**
   * Runs a tool and records its arguments with its result or error. Under the preload it is a tool call of the
   * process's recording too.
   *
   * @example
   * const order = await client.callTool('get_order', { id: 7 }, ({ id }) => db.orders.find(id));
   */
  async callTool<T>(name: string, args: ToolArguments, executor: ToolExecutor<T>): Promise<T> {
    const turn = this.log.begin({ type: 'tool_call', request: () => ({ name, args: plainArguments(args) }) });
    return settle(turn, () => this.runTool(name, args, executor));
  }

  /** How a tool is run; a replay answers in its place. @internal */
  protected runTool<T>(name: string, args: ToolArguments, executor: ToolExecutor<T>): Promise<T> | T {
    return tool(name, (given: ToolArguments) => executor(given))(args);
  }

  /**
   * The conversation so far, with `fields` spread over it. Each call gives objects of its own.
   *
   * @example
   * fs.writeFileSync('run.jsonl', JSON.stringify(client.getExecutionLog({ outcome: 'resolved' })) + '\n');
   */
  getExecutionLog(fields: LogFields = {}): ExecutionLog {
    return this.log.toLog(fields);
  }
}

async function settle<T>(turn: OpenTurn, run: () => Promise<T> | T): Promise<T> {
  let result: T;
  try {
    result = await run();
  } catch (error) {
    turn.threw(error);
    throw error;
  }
  turn.returned(result);
  return result;
}

/** A client may be called with anything; what is no object has no fields to record. */
function requestOf(params: unknown): object {
  return typeof params === 'object' && params !== null ? params : { params };
}

function plainArguments(args: unknown): unknown {
  return toPlainJson(encodeTyped(args).json);
}
