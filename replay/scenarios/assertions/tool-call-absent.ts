import { defineAssertion, shortJson, toolCalls, toolName } from './assertion';
import { argsMatch, describeFilter, readArgsFilter } from './tool-call-present';

/** The tool was never called (with such arguments). */
export const toolCallAbsent = defineAssertion(
  'tool_call_absent',
  (reader) => ({ tool: reader.string('toolName'), filter: readArgsFilter(reader) }),
  ({ tool, filter }, evidence) => {
    const hits = toolCalls(evidence).filter((call) => toolName(call) === tool && argsMatch(call, filter));
    const places = hits.map((call) => `turn ${call.number} with ${shortJson(call.turn.request['args'])}`);
    return {
      passed: hits.length === 0,
      expected: `${tool} is never called${describeFilter(filter)}`,
      actual: hits.length === 0 ? `${tool} was not called` : `${tool} was called in ${places.join(', ')}`,
    };
  },
);
