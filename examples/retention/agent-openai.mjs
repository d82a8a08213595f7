// The retention agent on the openai SDK. It knows nothing of recording.
import OpenAI from 'openai';
import { definitions } from './definitions.mjs';
import { prompts } from './prompts.mjs';
import * as tools from './tools.mjs';

const client = new OpenAI();
const messages = [
  { role: 'system', content: `${prompts[process.env.PROMPT_VERSION ?? 'v1']}\nToday is ${new Date().toDateString()}.` },
  { role: 'user', content: 'C-1042 here. I have no signal at home any more, I want to cancel.' },
];

for (let turn = 0; turn < 10; turn++) {
  const stream = client.chat.completions.stream({
    model: 'gpt-5-mini',
    messages,
    tools: definitions.map((definition) => ({ type: 'function', function: definition })),
  });
  const { message } = (await stream.finalChatCompletion()).choices[0];
  messages.push({
    role: 'assistant',
    content: message.content,
    ...(message.tool_calls && { tool_calls: message.tool_calls }),
  });
  if (message.content) console.log(`agent: ${message.content}`);
  if (!message.tool_calls?.length) break;
  for (const call of message.tool_calls) {
    const result = await tools[call.function.name](JSON.parse(call.function.arguments));
    messages.push({ role: 'tool', tool_call_id: call.id, content: JSON.stringify(result) });
  }
}
