import type { LlmClient } from '../../instrumentation/llm-client';
import { RecordingClient } from '../../instrumentation/recording-client';
import type { ToolArguments, ToolExecutor } from '../../instrumentation/recording-client';
import type { ExecutionLog } from '../../instrumentation/schema/execution-log';
import { encodeTyped, toPlainJson } from '../../instrumentation/schema/typed-json';
import type { TurnLog } from '../../instrumentation/turn-log';
import type { InjectedCalls } from './injected-calls';
import { providerOf } from './recorded-turns';

type Create = (params: unknown, ...rest: unknown[]) => unknown;

export interface ReplayClientParts {
  readonly source: ExecutionLog;
  readonly calls: InjectedCalls;
  readonly log: TurnLog;
  /** Makes the call for real. */
  readonly live: Create;
}

/** A RecordingClient whose model and tools are those of a log. */
export class ReplayClient extends RecordingClient {
  private readonly calls: InjectedCalls;

  constructor(parts: ReplayClientParts) {
    super({ sessionId: parts.source.sessionId, client: recordedClient(parts) }, parts.log);
    this.calls = parts.calls;
  }

  protected override runTool<T>(name: string, args: ToolArguments, executor: ToolExecutor<T>): Promise<T> {
    const request = { name, args: toPlainJson(encodeTyped(args).json) };
    return this.calls.ask({ type: 'tool_call', request }, { live: () => executor(args) }) as Promise<T>;
  }
}

/** A client of the recorded shape, so that the log of the replay is read as the recorded one was. */
function recordedClient({ source, calls, live }: ReplayClientParts): LlmClient {
  const create: Create = (params, ...rest) => {
    const request = JSON.parse(JSON.stringify(params ?? {})) as Record<string, unknown>;
    const [options] = rest as [{ signal?: AbortSignal } | undefined];
    return calls.ask(
      { type: 'llm_call', request },
      {
        live: () => live(params, ...rest),
        wantsStream: request['stream'] === true,
        signal: options?.signal ?? undefined,
      },
    );
  };
  const first = source.turns.find((turn) => turn.type === 'llm_call');
  return first !== undefined && providerOf(first).id !== 'anthropic-messages'
    ? { chat: { completions: { create } } }
    : { messages: { create } };
}
