// A model provider for the example: answers like the APIs of OpenAI (chat completions) and Anthropic (messages), streams
// included, with new ids every time. Under prompt v1 it takes the coverage complaint for a question of price a few times
// in a hundred. SEED makes the same conversations come out wrong each time. Prints its port.
import http from 'node:http';
import { randomUUID } from 'node:crypto';

let state = Number(process.env.SEED ?? 13);
/** mulberry32: enough to decide which conversation goes wrong. */
function random() {
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), state | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
}
const WRONG = 0.06;
const id = (prefix) => prefix + randomUUID().replaceAll('-', '').slice(0, 24);

/** What the model says and which tool it calls, given the conversation so far. */
function decide({ system, said, results }) {
  const careful = system.includes('Never answer it with a discount');
  if (!results.get_customer) return { text: 'Let me look that up.', tool: 'get_customer', args: { id: 'C-1042' } };
  if (!results.check_coverage) {
    const isWrong = !careful && random() < WRONG;
    const zip = results.get_customer.zip;
    return { text: `Classification: ${isWrong ? 'PRICE' : 'COVERAGE'}.`, tool: 'check_coverage', args: { zip } };
  }
  const zip = results.check_coverage.zip;
  const isCoverage = careful || said.includes('COVERAGE');
  if (!results.offer_loyalty_discount && !results.flag_coverage_review) {
    return isCoverage && results.check_coverage.status === 'degraded'
      ? { text: '', tool: 'flag_coverage_review', args: { zip, reason: 'no signal at home' } }
      : { text: '', tool: 'offer_loyalty_discount', args: { customer_id: 'C-1042', percent: 20 } };
  }
  return results.flag_coverage_review
    ? { text: `Our network team will look at ${zip}. Review ${results.flag_coverage_review.review} is open.` }
    : { text: `Stay with us: 20 % off with code ${results.offer_loyalty_discount.offer}.` };
}

function readOpenAi({ messages }) {
  const names = new Map(messages.flatMap((m) => m.tool_calls ?? []).map((c) => [c.id, c.function.name]));
  const results = messages
    .filter((m) => m.role === 'tool')
    .map((m) => [names.get(m.tool_call_id), JSON.parse(m.content)]);
  const said = messages
    .filter((m) => m.role === 'assistant')
    .map((m) => m.content ?? '')
    .join(' ');
  return { system: messages[0].content, said, results: Object.fromEntries(results) };
}

function readAnthropic({ system, messages }) {
  const blocks = messages.flatMap((m) => (Array.isArray(m.content) ? m.content : []));
  const names = new Map(blocks.filter((b) => b.type === 'tool_use').map((b) => [b.id, b.name]));
  const results = blocks
    .filter((b) => b.type === 'tool_result')
    .map((b) => [names.get(b.tool_use_id), JSON.parse(b.content)]);
  const said = blocks
    .filter((b) => b.type === 'text')
    .map((b) => b.text)
    .join(' ');
  return { system, said, results: Object.fromEntries(results) };
}

function openAiEvents({ model }, { text, tool, args }) {
  const base = { id: id('chatcmpl-'), object: 'chat.completion.chunk', created: Math.floor(Date.now() / 1000), model };
  const piece = (delta, finish_reason = null) => ({ ...base, choices: [{ index: 0, delta, finish_reason }] });
  const words = text
    .split(/(?<= )/)
    .filter(Boolean)
    .map((content) => piece({ content }));
  const call = {
    index: 0,
    id: id('call_'),
    type: 'function',
    function: { name: tool, arguments: JSON.stringify(args) },
  };
  const events = [
    piece({ role: 'assistant', content: text ? '' : null }),
    ...words,
    ...(tool ? [piece({ tool_calls: [call] })] : []),
  ];
  events.push(piece({}, tool ? 'tool_calls' : 'stop'), {
    ...base,
    choices: [],
    usage: { prompt_tokens: 300, completion_tokens: 20, total_tokens: 320 },
  });
  return [...events.map((event) => `data: ${JSON.stringify(event)}\n\n`), 'data: [DONE]\n\n'];
}

function anthropicEvents({ model }, { text, tool, args }) {
  const usage = { input_tokens: 300, output_tokens: 1 };
  const message = {
    id: id('msg_'),
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
  };
  const events = [{ type: 'message_start', message }];
  const block = (content_block, deltas) => {
    const index = events.filter((event) => event.type === 'content_block_start').length;
    events.push({ type: 'content_block_start', index, content_block });
    for (const delta of deltas) events.push({ type: 'content_block_delta', index, delta });
    events.push({ type: 'content_block_stop', index });
  };
  if (text)
    block(
      { type: 'text', text: '' },
      text.split(/(?<= )/).map((word) => ({ type: 'text_delta', text: word })),
    );
  if (tool) {
    const input = { type: 'input_json_delta', partial_json: JSON.stringify(args) };
    block({ type: 'tool_use', id: id('toolu_'), name: tool, input: {} }, [input]);
  }
  const stop_reason = tool ? 'tool_use' : 'end_turn';
  events.push({ type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 20 } });
  events.push({ type: 'message_stop' });
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
}

const server = http.createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const body = JSON.parse(Buffer.concat(parts).toString());
  const isOpenAi = request.url.endsWith('/chat/completions');
  const answer = decide(isOpenAi ? readOpenAi(body) : readAnthropic(body));
  const events = isOpenAi ? openAiEvents(body, answer) : anthropicEvents(body, answer);
  response.writeHead(200, { 'content-type': 'text/event-stream', 'x-request-id': id('req_') });
  for (const event of events) {
    response.write(event);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  response.end();
});
server.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => console.log(server.address().port));
