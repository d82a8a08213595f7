import { createHash } from 'node:crypto';

export interface OutputDigest {
  readonly sha256: string;
  readonly bytes: number;
}

type Stream = NodeJS.WriteStream;

/**
 * Hashes what the program writes to stdout and stderr, so that a replay can be compared to the byte.
 *
 * What: the `write` of the two streams, at the first access of `process.stdout` or `process.stderr`. Why here: reading
 * the getters at start-up would open the streams before the program does. What breaks when it goes wrong: console
 * output; `write` passes every argument and result through. What children and native code write is not seen.
 */
export class OutputDigests {
  private readonly hashes = new Map<string, { hash: ReturnType<typeof createHash>; bytes: number }>();

  install(): void {
    for (const name of ['stdout', 'stderr'] as const) {
      const descriptor = Object.getOwnPropertyDescriptor(process, name);
      if (descriptor?.get === undefined || descriptor.configurable !== true) continue;
      const get = descriptor.get;
      let seen: Stream | undefined;
      Object.defineProperty(process, name, {
        ...descriptor,
        get: () => {
          const stream = get.call(process) as Stream;
          if (stream !== seen) {
            seen = stream;
            this.tap(name, stream);
          }
          return stream;
        },
      });
    }
  }

  private tap(name: string, stream: Stream): void {
    const state = { hash: createHash('sha256'), bytes: 0 };
    this.hashes.set(name, state);
    const write = stream.write;
    stream.write = function (this: Stream, chunk: unknown, ...rest: unknown[]) {
      if (typeof chunk === 'string' || chunk instanceof Uint8Array) {
        const bytes =
          typeof chunk === 'string'
            ? Buffer.from(chunk, typeof rest[0] === 'string' ? (rest[0] as BufferEncoding) : 'utf8')
            : chunk;
        state.hash.update(bytes);
        state.bytes += bytes.byteLength;
      }
      return write.call(this, chunk as string, ...(rest as []));
    } as Stream['write'];
  }

  digests(): { stdout: OutputDigest; stderr: OutputDigest } {
    return { stdout: this.digest('stdout'), stderr: this.digest('stderr') };
  }

  private digest(name: string): OutputDigest {
    const state = this.hashes.get(name);
    return { sha256: (state?.hash.copy() ?? createHash('sha256')).digest('hex'), bytes: state?.bytes ?? 0 };
  }
}
