import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionLog, ExecutionTurn } from '../../../instrumentation/schema/execution-log';
import { checkSets, fromOverrides, setText, toOverrides } from '../../../replay/player/set-texts';

const turn = (type: ExecutionTurn['type'], name: string): ExecutionTurn => ({
  turnId: name,
  timestamp: '2026-01-01T00:00:00.000Z',
  type,
  request: type === 'tool_call' ? { name } : { model: name },
  response: {},
  durationMs: 1,
});
const log: ExecutionLog = {
  sessionId: 's',
  agentVersion: '',
  promptVersion: '',
  startedAt: '2026-01-01T00:00:00.000Z',
  turns: [
    turn('llm_call', 'm'),
    turn('tool_call', 'get_order'),
    turn('tool_call', 'ns/look-up'),
    turn('tool_call', 'get_order'),
  ],
};
const code = (text: string, logs = [log]): unknown => {
  try {
    checkSets([text], logs, '/');
    return 'accepted';
  } catch (error) {
    return (error as { code: string }).code;
  }
};

test.each([
  ['tool:get_order#2/status="lost"', 'accepted'],
  ['tool:ns/look-up#1/a={"b":1}', 'accepted'],
  ['tool:never_called={"new":1}', 'accepted'],
  ['llm#1=Nothing to do.', 'accepted'],
  ['1=plain text', 'accepted'],
  ['2=null', 'accepted'],
  ['x', 'SET_INVALID'],
  ['x=1', 'SET_INVALID'],
  ['=1', 'SET_INVALID'],
  ['1={', 'SET_INVALID'],
  ['2=plain text', 'SET_INVALID'],
  ['tool:get_order#1=lost', 'SET_INVALID'],
  ['tool:nothing#1={}', 'TURN_NOT_FOUND'],
  ['tool:get_order#3={}', 'TURN_NOT_FOUND'],
  ['llm#2={}', 'TURN_NOT_FOUND'],
  ['5={}', 'TURN_NOT_FOUND'],
  ['0={}', 'TURN_NOT_FOUND'],
  ['2=@no-such-file', 'FILE_NOT_FOUND'],
])('--set %s is %s', (text, expected) => {
  expect(code(text)).toBe(expected);
});

test('a turn number is refused when several sessions are replayed', () => {
  expect(code('1=text', [log, log])).toBe('SET_INVALID');
});

test('a value can be read from a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'reenact-set-'));
  writeFileSync(join(folder, 'value.json'), '{"a":1}\n');
  expect(checkSets(['2=@value.json'], [log], folder).map(setText)).toEqual(['2={"a":1}']);
});

test('sets survive the way into a scenario and back', () => {
  const texts = ['tool:get_order#1/status="lost"', 'llm#1=Nothing to do.', 'tool:get_order={"a":[1]}'];
  expect(fromOverrides(toOverrides(checkSets(texts, [log], '/'))).sort()).toEqual([...texts].sort());
});

test('a bare tool name of the programming interface stands for every call of it', () => {
  expect(fromOverrides({ toolOverrides: { get_order: 1 } })).toEqual(['tool:get_order=1']);
});
