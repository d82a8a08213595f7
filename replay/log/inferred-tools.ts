import type { ToolCallView } from '../../instrumentation/providers/provider';
import { canonicalJson } from '../../instrumentation/schema/canonical-json';
import type { ExecutionTurn } from '../../instrumentation/schema/execution-log';
import { isShallow } from './checked';
import { historyField } from './message-history';
import { duration, iso, type DraftTurn } from './turns';

/** A tool call that the program did not let us see, but whose result it sent to the model. */
export interface InferredTool {
  /** Stands before this LLM turn, which carried the result. */
  readonly before: DraftTurn;
  readonly turn: Omit<ExecutionTurn, 'turnId'>;
}

interface Pending {
  readonly call: ToolCallView;
  readonly asked: DraftTurn;
  /** An observed call is this one. */
  readonly covered: boolean;
}

/**
 * Tool calls that follow from the messages: the model asked, a later request of the session holds the result, and no
 * observed call has the same name and arguments (each observed call counts once, in order).
 */
export function inferTools(drafts: readonly DraftTurn[]): InferredTool[] {
  const observed = indexObserved(drafts);
  const pending = new Map<string, Pending[]>();
  const inferred: InferredTool[] = [];
  for (const draft of drafts) {
    if (draft.llm === undefined) continue;
    for (const { asked, call, content, isError } of answered(draft, pending)) {
      inferred.push({ before: draft, turn: inferredTurn({ asked, call }, draft, { content, isError }) });
    }
    for (const call of draft.llm.provider.toolCalls(draft.turn.response)) {
      const waiting = { call, asked: draft, covered: takeObserved(observed, call, draft) };
      const list = pending.get(call.id);
      if (list === undefined) pending.set(call.id, [waiting]);
      else list.push(waiting);
    }
  }
  return inferred;
}

type Observed = Map<string, DraftTurn[]>;

const keyOf = (name: unknown, args: unknown): string => `${String(name)} ${canonicalJson(args)}`;

function indexObserved(drafts: readonly DraftTurn[]): Observed {
  const observed: Observed = new Map();
  for (const draft of drafts) {
    if (draft.turn.type !== 'tool_call') continue;
    const { name, args } = draft.turn.request;
    // Frameworks hand a context over beside the model's arguments: the first of several arguments counts as them too.
    for (const value of Array.isArray(args) ? [args, args[0]] : [args]) {
      const key = keyOf(name, value);
      const list = observed.get(key);
      if (list === undefined) observed.set(key, [draft]);
      else list.push(draft);
    }
  }
  return observed;
}

/** Whether an observed call is the one that the model asked for; that call is then used up. */
function takeObserved(observed: Observed, call: ToolCallView, asked: DraftTurn): boolean {
  if (!isShallow(call.args)) return false;
  const list = observed.get(keyOf(call.name, plain(call.args))) ?? [];
  const at = list.findIndex((tool) => tool.processPath !== asked.processPath || tool.seqStart > asked.seqStart);
  if (at < 0) return false;
  list.splice(at, 1);
  return true;
}

/** As plain JSON carries it, which is what the observed arguments went through. */
function plain(value: unknown): unknown {
  const text = JSON.stringify(value);
  return text === undefined ? null : (JSON.parse(text) as unknown);
}

/** Calls whose results this request brings; covered ones are taken off the list without being reported. */
function answered(draft: DraftTurn, pending: Map<string, Pending[]>) {
  const results = newResults(draft);
  const found: { asked: DraftTurn; call: ToolCallView; content: unknown; isError: boolean }[] = [];
  for (const [index, result] of results.entries()) {
    const list = pending.get(result.id);
    if (list === undefined || list.length === 0) continue;
    // Some providers use the same ids again in each round: a history that was sent whole holds the old results first.
    const rest = results.slice(index + 1).filter((other) => other.id === result.id).length;
    if (rest >= list.length) continue;
    const own = list.findIndex((item) => item.asked.scope === draft.scope && item.asked.agentId === draft.agentId);
    const [item] = list.splice(own < 0 ? 0 : own, 1);
    if (item !== undefined && !item.covered)
      found.push({ asked: item.asked, call: item.call, content: result.content, isError: result.isError });
  }
  return found;
}

/** Tool results in the part of the request that no earlier turn had sent. */
function newResults(draft: DraftTurn) {
  if (draft.llm === undefined) return [];
  const { provider, request, shared } = draft.llm;
  const field = historyField(request.body);
  if (field === undefined || shared === 0) return provider.toolResults(request);
  const items = request.body[field] as unknown[];
  return provider.toolResults({ ...request, body: { ...request.body, [field]: items.slice(shared) } });
}

function inferredTurn(
  { asked, call }: { asked: DraftTurn; call: ToolCallView },
  answeredBy: DraftTurn,
  result: { content: unknown; isError: boolean },
): Omit<ExecutionTurn, 'turnId'> {
  const endMs = Math.max(asked.endMs, answeredBy.startMs);
  const content: unknown = plain(result.content);
  return {
    timestamp: iso(asked.endMs),
    type: 'tool_call',
    request: { name: call.name, args: plain(call.args) },
    response: result.isError
      ? { error: { name: 'Error', message: typeof content === 'string' ? content : JSON.stringify(content) } }
      : { result: content },
    durationMs: duration(asked.endMs, endMs),
    ...(asked.agentId !== undefined && { agentId: asked.agentId }),
    inferred: true,
    outcome: result.isError ? 'error' : 'ok',
  };
}
