import { atPointer } from '../../analysis/json-changes';
import { defineAssertion, describeCalls, shortJson, toolCalls, toolName } from './assertion';
import type { PlacedTurn, SpecReader } from './assertion';

/** How the arguments of a call must look. */
export interface ArgsFilter {
  readonly args: Record<string, unknown> | undefined;
  readonly pointers: Record<string, unknown> | undefined;
}

/** Reads `args` (a subset of the argument object) and `argsAt` (`{ "/json/pointer": value }`). */
export function readArgsFilter(reader: SpecReader): ArgsFilter {
  const pointers = reader.optionalObject('argsAt');
  const bad = Object.keys(pointers ?? {}).find((pointer) => pointer !== '' && !pointer.startsWith('/'));
  if (bad !== undefined) reader.fail(`"argsAt" has ${JSON.stringify(bad)}, which is not a JSON Pointer`);
  return { args: reader.optionalObject('args'), pointers };
}

/** Whether a call's arguments pass the filter. */
export function argsMatch(call: PlacedTurn, filter: ArgsFilter): boolean {
  const args = call.turn.request['args'];
  if (filter.args !== undefined && !contains(args, filter.args)) return false;
  return Object.entries(filter.pointers ?? {}).every(([pointer, value]) => contains(atPointer(args, pointer), value));
}

/** The filter in words, empty when there is none. */
export function describeFilter(filter: ArgsFilter): string {
  const parts = [
    ...(filter.args === undefined ? [] : [`args containing ${shortJson(filter.args)}`]),
    ...Object.entries(filter.pointers ?? {}).map(([pointer, value]) => `${pointer} = ${shortJson(value)}`),
  ];
  return parts.length === 0 ? '' : ` with ${parts.join(' and ')}`;
}

/** True when every field of `wanted` is found in `value`; lists must agree in length and item by item. */
function contains(value: unknown, wanted: unknown): boolean {
  if (typeof wanted !== 'object' || wanted === null) return Object.is(value, wanted);
  if (typeof value !== 'object' || value === null || Array.isArray(value) !== Array.isArray(wanted)) return false;
  if (Array.isArray(wanted) && wanted.length !== (value as unknown[]).length) return false;
  return Object.entries(wanted).every(
    ([key, item]) => Object.hasOwn(value, key) && contains((value as Record<string, unknown>)[key], item),
  );
}

/**
 * The tool was called (with such arguments). With `calledBefore` also: before the first call of that other tool, if
 * that one was called at all.
 */
export const toolCallPresent = defineAssertion(
  'tool_call_present',
  (reader) => ({
    tool: reader.string('toolName'),
    before: reader.optionalString('calledBefore'),
    filter: readArgsFilter(reader),
  }),
  ({ tool, before, filter }, evidence) => {
    const calls = toolCalls(evidence);
    const hits = calls.map((call) => toolName(call) === tool && argsMatch(call, filter));
    const first = hits.indexOf(true);
    const other = before === undefined ? -1 : calls.findIndex((call) => toolName(call) === before);
    const named = calls.filter((call) => toolName(call) === tool);
    return {
      passed: first >= 0 && (other < 0 || first < other),
      expected: `${tool} is called${describeFilter(filter)}${before === undefined ? '' : ` before ${before}`}`,
      actual:
        first < 0 && named.length > 0
          ? `called with other arguments: ${named.map((call) => `turn ${call.number} ${shortJson(call.turn.request['args'])}`).join(', ')}`
          : describeCalls(calls),
    };
  },
);
