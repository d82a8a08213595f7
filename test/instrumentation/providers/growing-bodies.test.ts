import { GrowingBodies } from '../../../instrumentation/providers/growing-bodies';

const text = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const user = (content: string) => ({ role: 'user', content });

/** Each body of a conversation, as JSON.parse reads it and as it comes back. */
function readAll(bodies: readonly Buffer[], kept = new GrowingBodies()): unknown[] {
  return bodies.map((bytes) => structuredClone(kept.parse('key', bytes)));
}

const conversations: Record<string, unknown[]> = {
  'a growing list of messages': [1, 2, 3, 5, 9].map((n) => ({
    model: 'm',
    messages: Array.from({ length: n }, (_, i) => user(`number ${i}, "quoted" ]} and é`)),
    tools: [{ name: 't' }],
  })),
  'a growing input': [1, 2, 3].map((n) => ({ input: Array.from({ length: n }, (_, i) => user(`${i}`)), model: 'm' })),
  'a text that grows by a comma where a bracket stood': [
    { messages: [user('x]y')] },
    { messages: [user('x,1]y')] },
    { messages: [user('x,1,2]y')] },
  ],
  'a list within a message that grows': [
    { messages: [{ role: 'user', content: [1] }] },
    { messages: [{ role: 'user', content: [1, 2] }] },
    { messages: [{ role: 'user', content: [1, 2, 3] }] },
  ],
  'another list than that of the messages that grows': [
    { tools: [1], messages: [user('a')] },
    { tools: [1, 2], messages: [user('a')] },
    { tools: [1, 2, 3], messages: [user('a')] },
  ],
  'a history that is cut and grows again': [
    { messages: [user('a'), user('b'), user('c')] },
    { messages: [user('a'), user('b'), user('c'), user('d')] },
    { messages: [user('c')] },
    { messages: [user('c'), user('d')] },
    { messages: [user('c'), user('d'), user('e')] },
  ],
  'settings that change with a new message': [
    { messages: [user('a')], seed: 1 },
    { messages: [user('a'), user('b')], seed: 2 },
    { messages: [user('a'), user('b'), user('c')], seed: 2 },
  ],
};

test.each(Object.entries(conversations))('%s is read as JSON.parse reads it', (_, bodies) => {
  expect(readAll(bodies.map(text))).toEqual(bodies);
});

test('a body whose new part is no JSON is read as a whole', () => {
  const broken = Buffer.from('{"messages":[1,2,}]}');
  expect(readAll([text({ messages: [1] }), text({ messages: [1, 2] }), broken])[2]).toBeUndefined();
});

test('bodies of other keys are left alone', () => {
  const kept = new GrowingBodies();
  kept.parse('a', text({ messages: [1] }));
  kept.parse('a', text({ messages: [1, 2] }));
  const first = kept.parse('b', text({ messages: [1, 2, 3] }));
  kept.parse('a', text({ messages: [1, 2, 3, 4] }));
  expect(first).toEqual({ messages: [1, 2, 3] });
});
