import { canonicalJson } from '../../../instrumentation/schema/canonical-json';
import type { ExecutionLog, ExecutionTurn } from '../../../instrumentation/schema/execution-log';
import { tokensOf } from '../../scenarios/token-count';
import type { TokenCount } from '../../scenarios/token-count';
import { requestMessages, responseMessages } from './messages';
import type { ShownMessage } from './messages';

/** A conversation as people read it: each message once, in the turn that brought it. */
export interface ConversationView {
  readonly log: ExecutionLog;
  readonly entries: readonly Entry[];
}

export type Entry =
  | {
      readonly kind: 'llm';
      readonly number: number;
      readonly turn: ExecutionTurn;
      readonly model: string;
      readonly tokens: TokenCount | undefined;
      /** Earlier messages sent again with this turn. */
      readonly repeated: number;
      readonly newMessages: readonly ShownMessage[];
      readonly answers: readonly ShownMessage[];
    }
  | { readonly kind: 'tool'; readonly number: number; readonly turn: ExecutionTurn }
  | { readonly kind: 'note'; readonly at: string; readonly label: string; readonly value: unknown };

/** Makes the view of a log. `whole` shows every message of every turn, repeated ones too. */
export function viewConversation(log: ExecutionLog, options: { whole?: boolean } = {}): ConversationView {
  const seen: string[][] = [];
  const shownResults = new Map<string, number>();
  const entries = log.turns.map((turn, index): Entry => {
    if (turn.type === 'tool_call') {
      shownResults.set(canonicalJson(turn.response['result'] ?? null), index + 1);
      return { kind: 'tool', number: index + 1, turn };
    }
    const messages = requestMessages(turn.request);
    const answers = responseMessages(turn.response);
    const repeated = options.whole === true ? 0 : countRepeated(messages.map(messageKey), seen);
    seen.push([...messages, ...answers.slice(0, 1)].map(messageKey));
    return {
      kind: 'llm',
      number: index + 1,
      turn,
      model: String(turn.request['model'] ?? turn.response['model'] ?? ''),
      tokens: tokensOf(turn),
      repeated,
      newMessages: messages
        .slice(repeated)
        .map((message) => (options.whole === true ? message : withoutShown(message, shownResults))),
      answers,
    };
  });
  return { log, entries: withNotes(entries, log) };
}

/** Results that stand in a tool turn above are named rather than repeated. */
function withoutShown(message: ShownMessage, shown: ReadonlyMap<string, number>): ShownMessage {
  if (message.toolResults.length === 0) return message;
  const toolResults = message.toolResults.map((result) => {
    const turn = shown.get(canonicalJson(result.content));
    return turn === undefined ? result : { ...result, turn };
  });
  return { ...message, toolResults };
}

/** Providers change the form of a message on its way into the history, so only what is shown of it counts. */
function messageKey(message: ShownMessage): string {
  const { role, text, toolCalls, toolResults } = message;
  return canonicalJson({ role, text, toolCalls, toolResults });
}

/** How many leading messages stood in an earlier turn already. */
function countRepeated(keys: readonly string[], seen: readonly (readonly string[])[]): number {
  return seen.reduce((most, earlier) => {
    const differs = keys.findIndex((key, index) => key !== earlier[index]);
    return Math.max(most, differs < 0 ? keys.length : differs);
  }, 0);
}

function withNotes(turns: readonly Entry[], log: ExecutionLog): Entry[] {
  const notes = [
    ...(log.observations ?? []).map((item) => ({
      at: item.timestamp,
      label: `observed ${item.key}`,
      value: item.error === undefined ? item.value : { error: item.error },
    })),
    ...(log.decisions ?? []).map((item) => ({ at: item.timestamp, label: `decided ${item.name}`, value: item.data })),
  ].map((note): Entry => ({ kind: 'note', ...note }));
  const when = (entry: Entry): number => Date.parse(entry.kind === 'note' ? entry.at : entry.turn.timestamp);
  // Stable, and only notes move: turns stay in the order of their numbers even when clocks disagree.
  return notes
    .sort((a, b) => when(a) - when(b))
    .reduce<Entry[]>(
      (entries, note) => {
        const place = entries.findIndex((entry) => entry.kind !== 'note' && when(entry) > when(note));
        return entries.toSpliced(place < 0 ? entries.length : place, 0, note);
      },
      [...turns],
    );
}
