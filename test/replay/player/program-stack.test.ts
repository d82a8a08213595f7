import { programStack } from '../../../replay/player/program-stack';

test('names the functions of the program, innermost first', () => {
  function refundTool(): string {
    return programStack();
  }
  const frames = refundTool().split('\n');
  expect(frames[0]).toMatch(/at refundTool .*program-stack\.test\.ts:5/);
  expect(frames.every((frame) => !/replay[\\/]player[\\/]program-stack\.ts/.test(frame))).toBe(true);
});

test('leaves the limit of the program as it was', () => {
  const before = Error.stackTraceLimit;
  Error.stackTraceLimit = 3;
  try {
    programStack();
    expect(Error.stackTraceLimit).toBe(3);
  } finally {
    Error.stackTraceLimit = before;
  }
});
