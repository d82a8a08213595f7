// A provider that answers the scenarios of the transparency matrix, always the same.
import { createServer } from 'node:http';

const PAUSE_MS = 25;

/** Starts the provider on a free port; resolves to its origin, what it saw so far, and the function that stops it. */
export async function startProvider() {
  const seen = { connections: 0, requests: 0 };
  const server = createServer((request, response) => {
    seen.requests += 1;
    const received = [];
    request.on('data', (piece) => received.push(piece));
    request.on('error', () => undefined);
    request.on('end', () => answer(request, response, JSON.parse(Buffer.concat(received).toString() || '{}')));
  });
  server.on('connection', () => (seen.connections += 1));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { origin: `http://127.0.0.1:${server.address().port}`, seen, stop };
}

function answer(request, response, body) {
  const headers = { 'x-request-id': 'req_7', 'request-id': 'req_7' };
  if (body.model === 'busy') {
    response.writeHead(429, { ...headers, 'content-type': 'application/json', 'retry-after-ms': '5' });
    response.end(JSON.stringify({ type: 'error', error: { type: 'rate_limit_error', message: 'slow down' } }));
    return;
  }
  const { whole, events } = shapeOf(request.url, body);
  if (body.stream !== true) {
    response.writeHead(200, { ...headers, 'content-type': 'application/json' });
    response.end(JSON.stringify(whole));
    return;
  }
  response.writeHead(200, { ...headers, 'content-type': 'text/event-stream' });
  const send = (index) => {
    if (index === events.length) return response.end();
    // One cut in the middle; one stream that goes silent, for breaks and aborts.
    if (body.model === 'dropped' && index === 3) return response.socket.destroy();
    if (body.model === 'endless' && index === 3) return undefined;
    response.write(events[index]);
    return setTimeout(send, PAUSE_MS, index + 1);
  };
  return send(0);
}

function shapeOf(url, body) {
  if (url.includes('/messages')) return body.tools ? MESSAGE_TOOL : MESSAGE_TEXT;
  if (url.includes('/responses')) return RESPONSE;
  if (body.tools) return CHAT_TOOL;
  return body.n === 2 ? CHAT_TWO : CHAT_TEXT;
}

const CHAT = { id: 'chatcmpl-7', created: 1700000000, model: 'm', system_fingerprint: 'fp_7' };
const USAGE = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };

function chat(messages, deltas) {
  const choices = messages.map((message, index) => ({
    index,
    finish_reason: message.tool_calls ? 'tool_calls' : 'stop',
    message: { role: 'assistant', refusal: null, ...message },
  }));
  const chunk = (index, delta, finish_reason = null) => ({
    ...CHAT,
    object: 'chat.completion.chunk',
    choices: [{ index, delta, finish_reason }],
  });
  const chunks = deltas.map(([index, delta]) => chunk(index, delta));
  const finishes = messages.map((message, index) => chunk(index, {}, message.tool_calls ? 'tool_calls' : 'stop'));
  return {
    whole: { ...CHAT, object: 'chat.completion', choices, usage: USAGE },
    events: [...[...chunks, ...finishes].map((event) => `data: ${JSON.stringify(event)}\n\n`), 'data: [DONE]\n\n'],
  };
}

const CHAT_TEXT = chat(
  [{ content: '{"x":"hello"}' }],
  [[0, { role: 'assistant', content: '' }], ...['{"x":', '"hel', 'lo"}'].map((content) => [0, { content }])],
);
const CHAT_TWO = chat(
  [{ content: 'AAA' }, { content: 'BBB' }],
  ['A', 'B', 'A', 'B', 'A', 'B'].map((content, at) => [at % 2, { content }]),
);
const CALL = { id: 'call_7', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } };
const CHAT_TOOL = chat(
  [{ content: null, tool_calls: [CALL] }],
  [
    [0, { role: 'assistant', tool_calls: [{ index: 0, ...CALL, function: { name: 'get_weather', arguments: '' } }] }],
    ...['{"city"', ':"Oslo"}'].map((text) => [0, { tool_calls: [{ index: 0, function: { arguments: text } }] }]),
  ],
);

function named(events) {
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
}

function message(block, start, deltas, stop_reason) {
  const base = { id: 'msg_7', type: 'message', role: 'assistant', model: 'm', stop_sequence: null };
  return {
    whole: { ...base, content: [block], stop_reason, usage: { input_tokens: 3, output_tokens: 4 } },
    events: named([
      {
        type: 'message_start',
        message: { ...base, content: [], stop_reason: null, usage: { input_tokens: 3, output_tokens: 0 } },
      },
      { type: 'content_block_start', index: 0, content_block: start },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index: 0, delta })),
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 4 } },
      { type: 'message_stop' },
    ]),
  };
}

const MESSAGE_TEXT = message(
  { type: 'text', text: 'hello you' },
  { type: 'text', text: '' },
  ['hel', 'lo ', 'you'].map((text) => ({ type: 'text_delta', text })),
  'end_turn',
);
const MESSAGE_TOOL = message(
  { type: 'tool_use', id: 'toolu_7', name: 'get_weather', input: { city: 'Oslo' } },
  { type: 'tool_use', id: 'toolu_7', name: 'get_weather', input: {} },
  ['{"city"', ': "Oslo"}'].map((partial_json) => ({ type: 'input_json_delta', partial_json })),
  'tool_use',
);

const OUTPUT = {
  type: 'message',
  id: 'item_7',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text: 'hello you', annotations: [] }],
};
const RESPONSE_BASE = { id: 'resp_7', object: 'response', created_at: 1700000000, model: 'm' };
const COMPLETED = {
  ...RESPONSE_BASE,
  status: 'completed',
  output: [OUTPUT],
  usage: { input_tokens: 3, output_tokens: 4, total_tokens: 7 },
};
const AT = { item_id: 'item_7', output_index: 0, content_index: 0 };
const RESPONSE = {
  whole: COMPLETED,
  events: named(
    [
      { type: 'response.created', response: { ...RESPONSE_BASE, status: 'in_progress', output: [] } },
      { type: 'response.output_item.added', output_index: 0, item: { ...OUTPUT, status: 'in_progress', content: [] } },
      { type: 'response.content_part.added', ...AT, part: { type: 'output_text', text: '', annotations: [] } },
      ...['hello', ' you'].map((delta) => ({ type: 'response.output_text.delta', ...AT, delta })),
      { type: 'response.output_text.done', ...AT, text: 'hello you' },
      { type: 'response.output_item.done', output_index: 0, item: OUTPUT },
      { type: 'response.completed', response: COMPLETED },
    ].map((event, sequence_number) => ({ ...event, sequence_number })),
  ),
};
