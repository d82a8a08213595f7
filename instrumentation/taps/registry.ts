import type { ExchangeObserver } from '../exchange-observer';
import type { TapFailure, TapOptions } from './guarded-exchange';
import { installNodeHttpTap } from './node-http';
import { installUndiciTap } from './undici';

/** Every interception point that sees HTTP exchanges. A new one is one file and one line here. */
export const taps = [
  { id: 'undici', install: installUndiciTap },
  { id: 'node-http', install: installNodeHttpTap },
] as const;

/** Installs all taps; the returned function takes them out again. */
export function installTaps(observer: ExchangeObserver, onFailure?: TapFailure, options: TapOptions = {}): () => void {
  const undo: (() => void)[] = [];
  for (const tap of taps) {
    try {
      undo.push(tap.install(observer, onFailure, options));
    } catch (error) {
      // One that does not fit this runtime must not take the others with it.
      onFailure?.(`tap ${tap.id}`, error);
    }
  }
  return () => {
    for (const remove of undo.reverse()) remove();
  };
}
