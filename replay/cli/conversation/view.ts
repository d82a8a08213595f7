import { canonicalJson } from '../../../instrumentation/schema/canonical-json';
import type { ExecutionLog, ExecutionTurn } from '../../../instrumentation/schema/execution-log';
import { INBOUND } from '../../../instrumentation/schema/inbound';
import type { InboundAnswer, InboundArgs } from '../../../instrumentation/schema/inbound';
import { readable } from '../../../instrumentation/providers/json-fields';
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

interface SeenTurn {
  readonly instructions: string;
  readonly keys: readonly string[];
}

/** Makes the view of a log. `whole` shows every message of every turn, repeated ones too. */
export function viewConversation(log: ExecutionLog, options: { whole?: boolean } = {}): ConversationView {
  const seen: SeenTurn[] = [];
  const shownResults = new Map<string, number>();
  const entries = log.turns.map((turn, index): Entry => {
    if (turn.type === 'tool_call') {
      shownResults.set(canonicalJson(turn.response['result'] ?? null), index + 1);
      return { kind: 'tool', number: index + 1, turn };
    }
    const messages = requestMessages(turn.request);
    const answers = responseMessages(turn.response);
    const [instructions, rest] =
      messages[0]?.role === 'system' ? [messages.slice(0, 1), messages.slice(1)] : [[], messages];
    const { again, isNew } =
      options.whole === true ? { again: 0, isNew: true } : countRepeated(instructions, rest, seen);
    seen.push({ instructions: keyOf(instructions), keys: [...rest, ...answers.slice(0, 1)].map(messageKey) });
    return {
      kind: 'llm',
      number: index + 1,
      turn,
      model: String(turn.request['model'] ?? turn.response['model'] ?? ''),
      tokens: tokensOf(turn),
      repeated: again + (isNew ? 0 : instructions.length),
      newMessages: [...(isNew ? instructions : []), ...rest.slice(again)].map((message) =>
        options.whole === true ? message : withoutShown(message, shownResults),
      ),
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

function keyOf(instructions: readonly ShownMessage[]): string {
  return instructions.map(messageKey).join();
}

/**
 * How many leading messages stood in an earlier turn already, and whether the instructions are new: agents that hand
 * over to each other change those and keep the conversation.
 */
function countRepeated(
  instructions: readonly ShownMessage[],
  messages: readonly ShownMessage[],
  seen: readonly SeenTurn[],
): { again: number; isNew: boolean } {
  const keys = messages.map(messageKey);
  const again = seen.reduce((most, earlier) => {
    const differs = keys.findIndex((key, index) => key !== earlier.keys[index]);
    return Math.max(most, differs < 0 ? keys.length : differs);
  }, 0);
  return { again, isNew: !seen.some((earlier) => earlier.instructions === keyOf(instructions)) };
}

type Observation = NonNullable<ExecutionLog['observations']>[number];

/** What a server was asked is told by the request; its answer is what the turns below lead to. */
function observationNote(item: Observation): { at: string; label: string; value: unknown } {
  if (!item.key.startsWith(INBOUND)) {
    const value = item.error === undefined ? item.value : { error: item.error };
    return { at: item.timestamp, label: `observed ${item.key}`, value };
  }
  const { status, bytes } = (item.value ?? {}) as Partial<InboundAnswer>;
  const { body } = (item.args ?? {}) as Partial<InboundArgs>;
  const answered = `${String(status)}, ${String(bytes)} bytes`;
  const asked = item.key.slice(INBOUND.length);
  return { at: item.timestamp, label: `asked ${asked} (answered ${answered})`, value: readable(body) };
}

function withNotes(turns: readonly Entry[], log: ExecutionLog): Entry[] {
  const notes = [
    ...(log.observations ?? []).map(observationNote),
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
