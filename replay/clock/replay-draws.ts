import type { DrawSource } from '../../instrumentation/ambient/crypto';
import type { ScopeStorage } from '../../instrumentation/context';
import { Prng } from '../../instrumentation/prng';
import type { AmbientStream, CryptoDraw } from '../../instrumentation/schema/ambient-log';

/** Draws of true randomness from the log, each scope from its own; beyond the log from a stream seeded by the run. */
export function replayDraws(
  streams: ReadonlyMap<string, AmbientStream>,
  scopes: ScopeStorage,
  seed: string,
): DrawSource {
  const left = new Map<string, CryptoDraw[]>();
  const beyond = new Map<string, Prng>();
  return {
    draw(op, length, produce) {
      const path = scopes.current().path;
      let list = left.get(path);
      if (list === undefined) {
        list = [...(streams.get(path)?.draws ?? [])];
        left.set(path, list);
      }
      const at = list.findIndex((draw) => draw.op === op && (op === 'int' || draw.bytes.length === length));
      const found = at < 0 ? undefined : list.splice(at, 1)[0];
      if (found !== undefined) return found.bytes;
      let prng = beyond.get(path);
      if (prng === undefined) {
        prng = new Prng(`${seed}|crypto|${path}`);
        beyond.set(path, prng);
      }
      if (op === 'uuid') return Buffer.from(uuidFrom(prng.bytes(16)), 'latin1');
      const stream = prng;
      return op === 'int' ? produce(() => stream.double()) : stream.bytes(length);
    },
  };
}

/** A version 4 UUID of these bytes (RFC 9562, section 5.4). */
function uuidFrom(bytes: Buffer): string {
  const hex = bytes.toString('hex');
  const variant = ((parseInt(hex.slice(16, 17), 16) & 3) | 8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
}
