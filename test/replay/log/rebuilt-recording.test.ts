import { isRebuilt, recordingFromTurns } from '../../../replay/log/rebuilt-recording';
import { mergeRecordings } from '../../../replay/log/recording-of-log';
import { describeExchange } from '../../../instrumentation/providers/describe';
import type { ExecutionLog, ExecutionTurn } from '../../../instrumentation/schema/execution-log';
import type { ExchangeRecord } from '../../../instrumentation/schema/records';
import { decodeTyped } from '../../../instrumentation/schema/typed-json';
import { completion, user } from './sample-run';

const turn = (over: Partial<ExecutionTurn>): ExecutionTurn => ({
  turnId: 't',
  timestamp: '2026-01-01T00:00:00.000Z',
  type: 'llm_call',
  request: {},
  response: {},
  durationMs: 10,
  ...over,
});

const logOf = (turns: ExecutionTurn[], over: Partial<ExecutionLog> = {}): ExecutionLog => ({
  sessionId: 's',
  agentVersion: '',
  promptVersion: '',
  startedAt: '2026-01-01T00:00:00Z',
  turns,
  ...over,
});

const anthropicBody = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'c',
  content: [{ type: 'text', text: 'hi' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 1, output_tokens: 1 },
};

test.each([
  ['chat completion', { model: 'm', messages: [user('x')] }, completion('hi')],
  ['chat completion as a stream', { model: 'm', stream: true, messages: [user('x')] }, completion('hi')],
  ['message', { model: 'c', max_tokens: 9, messages: [user('x')] }, anthropicBody],
  ['message as a stream', { model: 'c', max_tokens: 9, stream: true, messages: [user('x')] }, anthropicBody],
])('a %s is rebuilt so that its own reader finds the answer in it', (_what, request, response) => {
  const { calls, gaps } = recordingFromTurns(logOf([turn({ request, response })]));
  const call = calls[0] as ExchangeRecord;
  const described = describeExchange(call.request, call.response, call.outcome);
  expect(described?.provider.answerText(described.response?.body ?? {})).toBe('hi');
  expect(JSON.parse(call.request.body.toString())).toEqual(request);
  expect(isRebuilt(call)).toBe(true);
  expect(gaps).toMatchObject([{ code: 'NO_RECORDED_BYTES' }]);
});

test('a request in no known format is rebuilt as plain JSON', () => {
  const call = recordingFromTurns(logOf([turn({ request: { messages: ['plan'] }, response: { text: 'P' } })]))
    .calls[0] as ExchangeRecord;
  expect(call.response?.chunks.map((chunk) => chunk.bytes.toString())).toEqual(['{"text":"P"}']);
});

test('a refused call keeps its status and error body', () => {
  const response = { error: { type: 'invalid_request_error', message: 'no' } };
  const call = recordingFromTurns(logOf([turn({ request: { model: 'm', messages: [] }, response, status: 400 })]))
    .calls[0] as ExchangeRecord;
  expect(call).toMatchObject({ outcome: 'error', response: { status: 400 } });
  expect(JSON.parse(String(call.response?.chunks[0]?.bytes))).toEqual(response);
});

test('a tool that failed throws an error of the same name, message and code', () => {
  const response = { error: { name: 'OrderError', message: 'gone', code: 'E1' } };
  const call = recordingFromTurns(logOf([turn({ type: 'tool_call', request: { name: 't', args: {} }, response })]))
    .calls[0];
  expect(decodeTyped((call as { thrown: unknown }).thrown)).toMatchObject({
    name: 'OrderError',
    message: 'gone',
    code: 'E1',
  });
});

test('inferred turns are left out: the program makes them by itself', () => {
  const tool = turn({ type: 'tool_call', request: { name: 't', args: {} }, response: { result: 1 } });
  expect(recordingFromTurns(logOf([tool, { ...tool, inferred: true }])).calls).toHaveLength(1);
});

test('calls that overlapped in time overlap in order', () => {
  const at = (seconds: number, durationMs: number) =>
    turn({
      type: 'tool_call',
      request: { name: 't', args: {} },
      response: { result: 1 },
      timestamp: `2026-01-01T00:00:0${seconds}.000Z`,
      durationMs,
    });
  const { calls } = recordingFromTurns(logOf([at(1, 5000), at(2, 1000), at(9, 0)]));
  expect(calls.map((call) => [call.seqStart, call.seqEnd])).toEqual([
    [1, 4],
    [2, 3],
    [5, 6],
  ]);
});

test('several logs without bytes are put together', () => {
  const tool = turn({ type: 'tool_call', request: { name: 't', args: {} }, response: { result: 1 } });
  expect(mergeRecordings([logOf([tool]), logOf([tool], { sessionId: 'other' })]).calls).toHaveLength(2);
});
