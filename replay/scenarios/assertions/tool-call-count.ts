import { defineAssertion, toolCalls, toolName } from './assertion';
import { argsMatch, describeFilter, readArgsFilter } from './tool-call-present';

/** The tool was called so many times: `equals`, or between `min` and `max`. */
export const toolCallCount = defineAssertion(
  'tool_call_count',
  (reader) => {
    const fields = {
      tool: reader.string('toolName'),
      equals: reader.optionalNumber('equals'),
      min: reader.optionalNumber('min'),
      max: reader.optionalNumber('max'),
      filter: readArgsFilter(reader),
    };
    if (fields.equals === undefined && fields.min === undefined && fields.max === undefined)
      reader.fail('needs "equals", "min" or "max"');
    return fields;
  },
  ({ tool, equals, min, max, filter }, evidence) => {
    const hits = toolCalls(evidence).filter((call) => toolName(call) === tool && argsMatch(call, filter));
    const bounds = [
      ...(equals === undefined ? [] : [`exactly ${equals}`]),
      ...(min === undefined ? [] : [`at least ${min}`]),
      ...(max === undefined ? [] : [`at most ${max}`]),
    ];
    const n = hits.length;
    const turns = n === 0 ? '' : ` (turns ${hits.map((call) => call.number).join(', ')})`;
    return {
      passed: n === (equals ?? n) && n >= (min ?? n) && n <= (max ?? n),
      expected: `${tool} is called ${bounds.join(' and ')} times${describeFilter(filter)}`,
      actual: `${n} times${turns}`,
    };
  },
);
