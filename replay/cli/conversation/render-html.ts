import { harmless } from '../terminal-text';
import type { ShownMessage } from './messages';
import { compact } from './render-text';
import type { ConversationView, Entry } from './view';
import { duration, moment, plural } from './words';

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem;color:#1b1b1f;background:#fff}
h1{font-size:1.4rem}h2{font-size:1rem;margin:2rem 0 .5rem;border-top:1px solid #ccc;padding-top:.5rem}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#f5f5f7;padding:.5rem .75rem;border-radius:4px;margin:.25rem 0 .75rem}
.role{font-weight:600}.dim{color:#666}.error{color:#a40000}
@media(prefers-color-scheme:dark){body{color:#e6e6ea;background:#17171a}pre{background:#232327}.dim{color:#a0a0a8}.error{color:#ff8a80}h2{border-color:#444}}`;

/** One self-contained page without script; every text of the recording is escaped, and nothing is loaded. */
export function renderHtml(views: readonly ConversationView[]): string {
  const title = views.map((view) => view.log.sessionId).join(', ');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escape(title)}</title>
<style>${STYLE}</style>
</head>
<body>
${views.map(renderOne).join('\n')}
</body>
</html>
`;
}

function renderOne(view: ConversationView): string {
  const { log } = view;
  const facts = [
    moment(log.startedAt),
    ...(log.durationMs === undefined ? [] : [duration(log.durationMs)]),
    plural(log.turns.length, 'turn'),
    ...(log.outcome === undefined ? [] : [`outcome ${log.outcome}`]),
    ...(log.agentVersion ? [`agent version ${log.agentVersion}`] : []),
    ...(log.promptVersion ? [`prompt version ${log.promptVersion}`] : []),
  ];
  return [
    '<main>',
    `<h1>Session ${escape(log.sessionId)}</h1>`,
    `<p class="dim">${escape(facts.join(' · '))}</p>`,
    ...view.entries.map(renderEntry),
    ...(log.gaps ?? []).map((gap) => `<p class="error">Gap ${escape(`${gap.code}: ${gap.message}`)}</p>`),
    '</main>',
  ].join('\n');
}

function renderEntry(entry: Entry): string {
  if (entry.kind === 'note') return `<p class="dim">${escape(entry.label)}</p>${block(compact(entry.value))}`;
  const { turn } = entry;
  const title = entry.kind === 'tool' ? `Tool ${String(turn.request['name'] ?? '?')}` : `LLM ${entry.model}`;
  const facts = `${duration(turn.durationMs)}${turn.inferred ? ', inferred' : ''}`;
  const head = `<h2 id="turn-${entry.number}">${entry.number}. ${escape(title)} <span class="dim">${facts}</span></h2>`;
  if (entry.kind === 'tool') {
    const failed = 'error' in turn.response;
    return [
      head,
      `<div class="role">arguments</div>${block(compact(turn.request['args']))}`,
      `<div class="role${failed ? ' error' : ''}">${failed ? 'error' : 'result'}</div>`,
      block(compact(failed ? turn.response['error'] : turn.response['result'])),
    ].join('\n');
  }
  return [
    head,
    ...(entry.repeated > 0 ? [`<p class="dim">${plural(entry.repeated, 'message')} as before</p>`] : []),
    ...[...entry.newMessages, ...entry.answers].map(renderMessage),
    ...(turn.error ? [`<p class="error">${escape(`${turn.error.name}: ${turn.error.message}`)}</p>`] : []),
  ].join('\n');
}

function renderMessage(message: ShownMessage): string {
  return [
    `<div class="role">${escape(message.role)}</div>`,
    ...(message.reasoning === '' ? [] : [`<div class="dim">thinking</div>${block(message.reasoning)}`]),
    ...(message.text === '' ? [] : [block(message.text)]),
    ...message.toolResults.map((result) => `<div class="dim">result</div>${block(compact(result.content))}`),
    ...message.toolCalls.map((call) => `<div class="dim">calls ${escape(call.name)}</div>${block(compact(call.args))}`),
    ...message.otherParts.map((part) => `<div class="dim">${escape(`[${part}]`)}</div>`),
  ].join('\n');
}

function block(text: string): string {
  return `<pre>${escape(text)}</pre>`;
}

function escape(text: string): string {
  return harmless(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
