import { defineAssertion, describeCalls, toolCalls, toolName } from './assertion';

/** The tools were called in this order; other calls may lie between. With `exact` these calls and no others. */
export const toolOrder = defineAssertion(
  'tool_order',
  (reader) => {
    const exact = reader.any('exact') ?? false;
    if (typeof exact !== 'boolean') reader.fail('"exact" must be true or false');
    return { tools: reader.strings('tools'), exact: exact === true };
  },
  ({ tools, exact }, evidence) => {
    const calls = toolCalls(evidence);
    const names = calls.map(toolName);
    let found = 0;
    for (const name of names) if (name === tools[found]) found += 1;
    return {
      passed: found === tools.length && (!exact || names.length === tools.length),
      expected: `tools are called in the order ${tools.join(', ')}${exact ? ' and no others' : ''}`,
      actual: describeCalls(calls),
    };
  },
);
