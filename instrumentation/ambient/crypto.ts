import crypto from 'node:crypto';
import { patch } from '../patches';

/**
 * Passes every draw of true randomness through: recording logs what `produce` gives (crypto is never seeded in
 * production), a replay answers from the log.
 */
export interface DrawSource {
  /**
   * @param length bytes needed
   * @param produce gives what was really drawn; with `uniform` (numbers in [0, 1)) a value of the same range instead
   */
  draw(op: string, length: number, produce: (uniform?: () => number) => Uint8Array): Uint8Array;
}

type Target = NodeJS.ArrayBufferView | ArrayBufferLike;
type Callback = (error: Error | null, value?: unknown) => void;
type AnyFunction = (this: unknown, ...args: unknown[]) => unknown;

/**
 * Replaces the drawing functions of `node:crypto` and Web Crypto.
 *
 * What: randomBytes (and its old names), randomFill(Sync), randomInt, randomUUID, getRandomValues. Why here: uuid,
 * nanoid and the SDKs all end in these. What breaks when it goes wrong: bad arguments and callbacks; so the original
 * is always called first, with the arguments as they came, and only what it gave is then logged or overwritten.
 */
export function installCrypto(source: DrawSource): void {
  const refill = (op: string, bytes: Uint8Array): void => {
    const drawn = source.draw(op, bytes.byteLength, () => bytes);
    if (drawn !== bytes) bytes.set(drawn.subarray(0, bytes.byteLength));
  };
  patchBytes(refill);
  patchFill(refill);
  patchInt(source);
  patchUuid(source);
  // The export `getRandomValues` of node:crypto reads this prototype too.
  const prototype = Object.getPrototypeOf(crypto.webcrypto) as { getRandomValues: AnyFunction };
  patch(
    prototype,
    'getRandomValues',
    (original) =>
      function (this: unknown, ...args: unknown[]) {
        const view = original.apply(this, args) as NodeJS.ArrayBufferView;
        refill('values', bytesOf(view));
        return view;
      },
  );
}

type Refill = (op: string, bytes: Uint8Array) => void;

function bytesOf(target: Target): Uint8Array {
  return ArrayBuffer.isView(target)
    ? new Uint8Array(target.buffer, target.byteOffset, target.byteLength)
    : new Uint8Array(target);
}

function patchBytes(refill: Refill): void {
  const original = crypto.randomBytes as unknown as AnyFunction;
  const filled = (bytes: Buffer): Buffer => {
    refill('bytes', bytes);
    return bytes;
  };
  const randomBytes: AnyFunction = function (size, callback) {
    if (callback === undefined) return filled(original(size) as Buffer);
    if (typeof callback !== 'function') return original(size, callback);
    return original(size, (error: Error | null, bytes: Buffer) =>
      error === null ? (callback as Callback)(null, filled(bytes)) : (callback as Callback)(error),
    );
  };
  const module = crypto as unknown as Record<string, AnyFunction>;
  for (const name of ['randomBytes', 'pseudoRandomBytes', 'prng', 'rng']) patch(module, name, () => randomBytes);
}

/** The bytes that `randomFill(target, offset, size)` fills: both count elements. */
function filledPart(target: Target, offset: unknown, size: unknown): Uint8Array {
  const bytes = bytesOf(target);
  const unit = 'BYTES_PER_ELEMENT' in target ? Number(target.BYTES_PER_ELEMENT) : 1;
  const from = typeof offset === 'number' ? offset * unit : 0;
  return bytes.subarray(from, typeof size === 'number' ? from + size * unit : bytes.byteLength);
}

function patchFill(refill: Refill): void {
  const module = crypto as unknown as { randomFill: AnyFunction; randomFillSync: AnyFunction };
  patch(
    module,
    'randomFillSync',
    (original) =>
      function (target, offset, size) {
        const result = original(target, offset, size);
        refill('fill', filledPart(target as Target, offset, size));
        return result;
      },
  );
  patch(
    module,
    'randomFill',
    (original) =>
      function (...args) {
        const at = args.findIndex((arg) => typeof arg === 'function');
        if (at < 0) return original(...args);
        const callback = args[at] as Callback;
        const [target, offset, size] = args.slice(0, at);
        const done: Callback = (error, value) => {
          if (error === null) refill('fill', filledPart(target as Target, offset, size));
          callback(error, value);
        };
        return original(...args.slice(0, at), done);
      },
  );
}

function patchInt(source: DrawSource): void {
  const drawn = (args: unknown[], real: number): number => {
    const [min, max] = typeof args[1] === 'number' ? [Number(args[0]), args[1]] : [0, Number(args[0])];
    const bytes = source.draw('int', 8, (uniform) => {
      const out = Buffer.alloc(8);
      out.writeDoubleBE(uniform === undefined ? real : min + Math.floor(uniform() * (max - min)));
      return out;
    });
    return Buffer.from(bytes).readDoubleBE();
  };
  patch(
    crypto as unknown as { randomInt: AnyFunction },
    'randomInt',
    (original) =>
      function (...args) {
        const callback = args.at(-1);
        if (typeof callback !== 'function') return drawn(args, original(...args) as number);
        const bounds = args.slice(0, -1);
        return original(...bounds, (error: Error | null, value: unknown) =>
          (callback as Callback)(error, typeof value === 'number' ? drawn(bounds, value) : value),
        );
      },
  );
}

function patchUuid(source: DrawSource): void {
  const prototype = Object.getPrototypeOf(crypto.webcrypto) as { randomUUID: AnyFunction };
  for (const target of [crypto as unknown as { randomUUID: AnyFunction }, prototype]) {
    patch(
      target,
      'randomUUID',
      (original) =>
        function (this: unknown, ...args) {
          const real = original.apply(this, args) as string;
          return Buffer.from(source.draw('uuid', 36, () => Buffer.from(real, 'latin1'))).toString('latin1');
        },
    );
  }
}
