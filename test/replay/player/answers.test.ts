import { answerReleases } from '../../../replay/player/answers';
import type { NetworkFault, Responder } from '../../../replay/network/virtual-network';
import { ask, recorded } from './samples';

/** What the socket of a replayed exchange that failed before its answer is destroyed with. */
function faultOf(error: { name: string; code: string; message: string }): NetworkFault | undefined {
  const destroyed: (NetworkFault | undefined)[] = [];
  const responder = { destroy: (fault?: NetworkFault) => destroyed.push(fault) } as unknown as Responder;
  const record = { ...recorded(ask('hi')), outcome: 'error' as const, error };
  delete (record as { response?: unknown }).response;
  for (const piece of answerReleases(record, responder)) piece.run();
  expect(destroyed).toHaveLength(1);
  return destroyed[0];
}

describe('an exchange that failed before its answer', () => {
  it.each([
    { name: 'Error', code: 'HPE_INVALID_CONSTANT', message: 'Parse Error: Expected HTTP/' },
    { name: 'HeadersOverflowError', code: 'UND_ERR_HEADERS_OVERFLOW', message: 'Headers Overflow Error' },
  ])('fails with the refusal of the parser again: $code', (error) => {
    expect(faultOf(error)).toEqual(error);
  });

  it('just closes where undici named what the peer did', () => {
    expect(faultOf({ name: 'SocketError', code: 'UND_ERR_SOCKET', message: 'other side closed' })).toBeUndefined();
  });
});
