import crypto from 'node:crypto';
import { patch } from '../patches';

/**
 * Passes every draw of true randomness through: recording logs what `produce` gives (crypto is never seeded in
 * production), a replay answers from the log.
 */
export interface DrawSource {
  /** @param length bytes needed; @param produce makes them for real. */
  draw(op: string, length: number, produce: () => Uint8Array): Uint8Array;
}

type View = NodeJS.ArrayBufferView;

type Originals = Pick<typeof crypto, 'randomBytes' | 'randomFill' | 'randomFillSync' | 'randomInt' | 'randomUUID'>;

function bytesOf(view: View | ArrayBufferLike): Uint8Array {
  return ArrayBuffer.isView(view)
    ? new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
    : new Uint8Array(view);
}

/**
 * Replaces the drawing functions of `node:crypto` and Web Crypto.
 *
 * What: randomBytes, randomFill(Sync), randomInt, randomUUID, getRandomValues. Why here: uuid, nanoid and the SDKs all
 * end in these. What breaks when it goes wrong: callbacks must stay asynchronous and bad arguments must fail as before,
 * so arguments are checked by the original function.
 */
export function installCrypto(source: DrawSource): void {
  const { randomBytes, randomFill, randomFillSync, randomInt, randomUUID } = crypto;
  const original: Originals = { randomBytes, randomFill, randomFillSync, randomInt, randomUUID };
  const fill = (op: string, view: View | ArrayBufferLike, real: () => void): void => {
    const target = bytesOf(view);
    const drawn = source.draw(op, target.byteLength, () => {
      real();
      return target.slice();
    });
    target.set(drawn.subarray(0, target.byteLength));
  };
  patchBytes(original, source);
  patchFill(original, fill);
  patchInt(original, source);
  patchUuid(original, source);
  const webcrypto = crypto.webcrypto as unknown as { getRandomValues<T extends View>(view: T): T };
  const prototype = Object.getPrototypeOf(webcrypto) as typeof webcrypto;
  const getRandomValues = prototype.getRandomValues;
  // `crypto.getRandomValues` is a getter that reads this prototype, and is called on the module.
  const replacement = function <T extends View>(this: unknown, view: T): T {
    if (!ArrayBuffer.isView(view) || view.byteLength > 65_536) return getRandomValues.call(webcrypto, view) as T;
    fill('values', view, () => void getRandomValues.call(webcrypto, view));
    return view;
  };
  patch(prototype, 'getRandomValues', () => replacement as typeof getRandomValues);
}

function patchBytes(original: Originals, source: DrawSource): void {
  const randomBytes = function (size: number, callback?: (error: Error | null, bytes: Buffer) => void): Buffer | void {
    if (typeof size !== 'number' || !(size >= 0) || size > 0x7fffffff)
      return original.randomBytes(size, callback as never);
    const draw = (): Buffer => Buffer.from(source.draw('bytes', size, () => original.randomBytes(size)));
    if (callback === undefined) return draw();
    if (typeof callback !== 'function') return original.randomBytes(size, callback as never);
    original.randomBytes(0, () => callback(null, draw()));
  };
  patch(crypto, 'randomBytes', () => randomBytes as typeof crypto.randomBytes);
  patch(crypto, 'pseudoRandomBytes', () => randomBytes as typeof crypto.pseudoRandomBytes);
}

function patchFill(
  original: Originals,
  fill: (op: string, view: View | ArrayBufferLike, real: () => void) => void,
): void {
  patch(
    crypto,
    'randomFillSync',
    () =>
      function (view: View, offset?: number, size?: number) {
        if (offset !== undefined || size !== undefined || !ArrayBuffer.isView(view)) {
          const part =
            ArrayBuffer.isView(view) && !('BYTES_PER_ELEMENT' in view && view.BYTES_PER_ELEMENT !== 1)
              ? bytesOf(view).subarray(offset ?? 0, (offset ?? 0) + (size ?? view.byteLength - (offset ?? 0)))
              : undefined;
          if (part === undefined) return original.randomFillSync(view as never, offset as never, size as never);
          fill('fill', part, () => void original.randomFillSync(view as never, offset as never, size as never));
          return view;
        }
        fill('fill', view, () => void original.randomFillSync(view as never));
        return view;
      } as typeof crypto.randomFillSync,
  );
  patch(
    crypto,
    'randomFill',
    () =>
      function (view: View, ...rest: unknown[]) {
        const callback = rest[rest.length - 1];
        if (rest.length !== 1 || typeof callback !== 'function' || !ArrayBuffer.isView(view))
          return original.randomFill(view as never, ...(rest as [never]));
        return original.randomFill(view as never, (error: Error | null) => {
          if (error === null) fill('fill', view, () => undefined);
          (callback as (error: Error | null, view: View) => void)(error, view);
        });
      } as typeof crypto.randomFill,
  );
}

function patchInt(original: Originals, source: DrawSource): void {
  const drawInt = (real: () => number): number => {
    // Six bytes hold every value that randomInt can give (range below 2^48, offset up to 2^53 needs seven; eight serve).
    const bytes = Buffer.from(
      source.draw('int', 8, () => {
        const out = Buffer.alloc(8);
        out.writeDoubleBE(real());
        return out;
      }),
    );
    return bytes.readDoubleBE();
  };
  patch(
    crypto,
    'randomInt',
    () =>
      function (...args: unknown[]) {
        const callback = args[args.length - 1];
        if (typeof callback !== 'function') return drawInt(() => original.randomInt(...(args as [number])));
        return original.randomInt(...(args.slice(0, -1) as [number]), (error: Error | null, value: number) => {
          (callback as (error: Error | null, value: number) => void)(
            error,
            error === null ? drawInt(() => value) : value,
          );
        });
      } as typeof crypto.randomInt,
  );
}

function patchUuid(original: Originals, source: DrawSource): void {
  const draw = (real: () => string): string =>
    Buffer.from(source.draw('uuid', 36, () => Buffer.from(real(), 'latin1'))).toString('latin1');
  patch(
    crypto,
    'randomUUID',
    () =>
      function (options?: never) {
        return draw(() => original.randomUUID(options)) as ReturnType<typeof crypto.randomUUID>;
      } as typeof crypto.randomUUID,
  );
  const prototype = Object.getPrototypeOf(crypto.webcrypto) as { randomUUID(): string };
  const webUuid = prototype.randomUUID;
  patch(
    prototype,
    'randomUUID',
    () =>
      function (this: unknown) {
        return draw(() => webUuid.call(this));
      } as typeof webUuid,
  );
}
