import type { ExchangeObserver } from '../exchange-observer';
import type { TapFailure } from './guarded-exchange';
import { installNodeHttpTap } from './node-http';
import { installUndiciTap } from './undici';

/** Every interception point that sees HTTP exchanges. A new one is one file and one line here. */
export const taps = [
  { id: 'undici', install: installUndiciTap },
  { id: 'node-http', install: installNodeHttpTap },
] as const;

/** Installs all taps; the returned function takes them out again. */
export function installTaps(observer: ExchangeObserver, onFailure?: TapFailure): () => void {
  const undo = taps.map((tap) => tap.install(observer, onFailure));
  return () => {
    for (const remove of undo.reverse()) remove();
  };
}
