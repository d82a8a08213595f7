// The retention agent on the Anthropic SDK. It knows nothing of recording.
import Anthropic from '@anthropic-ai/sdk';
import { definitions } from './definitions.mjs';
import { prompts } from './prompts.mjs';
import * as tools from './tools.mjs';

const client = new Anthropic();
const messages = [{ role: 'user', content: 'C-1042 here. I have no signal at home any more, I want to cancel.' }];

for (let turn = 0; turn < 10; turn++) {
  const stream = client.messages.stream({
    model: 'claude-sonnet-5',
    max_tokens: 1000,
    system: `${prompts[process.env.PROMPT_VERSION ?? 'v1']}\nToday is ${new Date().toDateString()}.`,
    messages,
    tools: definitions.map(({ parameters, ...rest }) => ({ ...rest, input_schema: parameters })),
  });
  const message = await stream.finalMessage();
  messages.push({ role: 'assistant', content: message.content });
  for (const block of message.content) if (block.type === 'text') console.log(`agent: ${block.text}`);
  const uses = message.content.filter((block) => block.type === 'tool_use');
  if (uses.length === 0) break;
  const results = [];
  for (const use of uses) {
    const result = await tools[use.name](use.input);
    results.push({ type: 'tool_result', tool_use_id: use.id, content: JSON.stringify(result) });
  }
  messages.push({ role: 'user', content: results });
}
