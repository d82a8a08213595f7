import type { AmbientStream, CryptoDraw } from '../../../instrumentation/schema/ambient-log';
import type { ExchangeRecord } from '../../../instrumentation/schema/records';
import { sameMadeId } from '../../../replay/player/made-ids';

const stream = (...draws: CryptoDraw[]): ReadonlyMap<string, AmbientStream> =>
  new Map([['', { scope: '', date: [], monotonic: [], timers: [], draws, gaps: [] }]]);

function exchange(asked: string, answered: string, kind: 'llm' | 'http' = 'llm'): ExchangeRecord {
  return {
    kind,
    request: { method: 'POST', url: 'http://h/v1', headers: [], body: Buffer.from(asked) },
    response: { chunks: [{ seq: 1, ms: 0, bytes: Buffer.from(answered) }] },
  } as unknown as ExchangeRecord;
}

const DRAWN = '6f1c2b0a-1111-4222-8333-444455556666';
const CUSTOMER = '11111111-2222-4333-8444-555555555555';
const OTHER = '99999999-2222-4333-8444-555555555555';

test('an id that was drawn may be another one', () => {
  const same = sameMadeId({
    ambient: stream({ op: 'uuid', bytes: Buffer.from(DRAWN) }),
    exchanges: [exchange(DRAWN, '')],
  });
  expect(same(DRAWN, OTHER)).toBe(true);
});

test('an id that the program was given may not', () => {
  const same = sameMadeId({ ambient: stream(), exchanges: [exchange(CUSTOMER, '')] });
  expect(same(CUSTOMER, OTHER)).toBe(false);
});

test('an id of a model answer may, one that another service answered may not', () => {
  const exchanges = [exchange('', '{"id":"call_abc1234567890"}'), exchange('', `{"id":"${CUSTOMER}"}`, 'http')];
  const same = sameMadeId({ ambient: stream(), exchanges });
  expect(same('call_abc1234567890', 'call_zzz1234567890')).toBe(true);
  expect(same(CUSTOMER, OTHER)).toBe(false);
});

test('an id that stands elsewhere in the recording is no new one', () => {
  const same = sameMadeId({
    ambient: stream({ op: 'uuid', bytes: Buffer.from(DRAWN) }),
    exchanges: [exchange(DRAWN, ''), exchange(OTHER, '')],
  });
  expect(same(DRAWN, OTHER)).toBe(false);
});

test('a UUID that a library made of drawn bytes was drawn', () => {
  // uuid 11 draws 16 bytes and sets version and variant: RFC 9562, section 5.4.
  const bytes = Buffer.from('00112233445566778899aabbccddeeff', 'hex');
  const same = sameMadeId({ ambient: stream({ op: 'bytes', bytes }), exchanges: [] });
  expect(same('00112233-4455-4677-8899-aabbccddeeff', OTHER)).toBe(true);
});
