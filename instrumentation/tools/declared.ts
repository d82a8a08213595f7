export type AnyFunction = (this: unknown, ...args: never[]) => unknown;

/** One declared function, as the recording names it. */
export interface DeclaredSpec {
  readonly kind: 'tool' | 'observation';
  readonly name: string;
  readonly replay: 'substitute' | 'run';
}

/** Puts a function through the call gate; keeps everything a program can see of it. */
export type WrapFunction = <F extends AnyFunction>(spec: DeclaredSpec, fn: F) => F;
