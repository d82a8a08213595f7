import { anthropicMessages } from './anthropic-messages';
import { openaiChat } from './openai-chat';
import { openaiResponses } from './openai-responses';

/** Every wire format we read. A new one is one file, one line here and one fixture. */
export const providers = [openaiChat, openaiResponses, anthropicMessages] as const;
