import type { ShownMessage } from './messages';
import { compact } from './render-text';
import type { ConversationView, Entry } from './view';
import { duration, moment, plural } from './words';
import { harmless, oneLine } from '../terminal-text';

/** Conversations as Markdown: texts quoted, values fenced, so that content never becomes markup of the page. */
export function renderMarkdown(views: readonly ConversationView[]): string {
  return `${views.map(renderOne).join('\n\n---\n\n')}\n`;
}

function renderOne(view: ConversationView): string {
  const { log } = view;
  const facts = [
    `Started ${moment(log.startedAt)}`,
    ...(log.durationMs === undefined ? [] : [duration(log.durationMs)]),
    plural(log.turns.length, 'turn'),
    ...(log.outcome === undefined ? [] : [`outcome ${log.outcome}`]),
    ...(log.agentVersion ? [`agent version ${log.agentVersion}`] : []),
    ...(log.promptVersion ? [`prompt version ${log.promptVersion}`] : []),
  ];
  return [
    `# Session ${inline(log.sessionId)}`,
    inline(facts.join(' · ')),
    ...view.entries.flatMap(renderEntry),
    ...(log.gaps ?? []).map((gap) => `- Gap ${inline(`${gap.code}: ${gap.message}`)}`),
  ].join('\n\n');
}

function renderEntry(entry: Entry): string[] {
  if (entry.kind === 'note') return [`*${inline(entry.label)}*`, fence(compact(entry.value))];
  const { turn } = entry;
  const mark = turn.inferred ? ', inferred' : '';
  if (entry.kind === 'tool') {
    const answer = 'error' in turn.response ? turn.response['error'] : turn.response['result'];
    return [
      `## ${entry.number}. Tool ${inline(String(turn.request['name'] ?? '?'))} (${duration(turn.durationMs)}${mark})`,
      'Arguments',
      fence(compact(turn.request['args'])),
      'error' in turn.response ? 'Error' : 'Result',
      fence(compact(answer)),
    ];
  }
  return [
    `## ${entry.number}. LLM ${inline(entry.model)} (${duration(turn.durationMs)})`,
    ...(entry.repeated > 0 ? [`*${plural(entry.repeated, 'message')} as before*`] : []),
    ...[...entry.newMessages, ...entry.answers].flatMap(renderMessage),
    ...(turn.error ? [`**Error** ${inline(`${turn.error.name}: ${turn.error.message}`)}`] : []),
  ];
}

function renderMessage(message: ShownMessage): string[] {
  return [
    `**${inline(message.role)}**`,
    ...(message.reasoning === '' ? [] : [`*thinking*`, fence(message.reasoning)]),
    ...(message.text === '' ? [] : [fence(message.text)]),
    ...message.toolResults.map((result) => `result\n\n${fence(compact(result.content))}`),
    ...message.toolCalls.map((call) => `calls ${inline(call.name)}\n\n${fence(compact(call.args))}`),
    ...message.otherParts.map((part) => `\\[${inline(part)}\\]`),
  ];
}

/** A fence longer than any run of backticks in the text, so that the text cannot end it. */
function fence(text: string): string {
  const longest = (text.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 2);
  const mark = '`'.repeat(longest + 1);
  return `${mark}text\n${harmless(text)}\n${mark}`;
}

function inline(text: string): string {
  return oneLine(text).replace(/[\\`*_{}[\]<>()#|!~&]/g, '\\$&');
}
