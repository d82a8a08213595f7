import { types } from 'node:util';
import { encodeTyped } from '../schema/typed-json';
import type { TypedJson } from '../schema/records';

type Step = (this: unknown, ...args: unknown[]) => unknown;
type AnyGenerator = Record<'next' | 'return' | 'throw', Step>;

export interface GeneratorEnd {
  /** Carries the items, what came after the last and how it ended. */
  readonly json: TypedJson;
  readonly lost: readonly string[];
  readonly failed: boolean;
  readonly error?: unknown;
}

export interface GeneratorWatch {
  /** Runs a step where the calls that the generator makes belong. */
  within<T>(step: () => T): T;
  /** Called once, when the generator has ended. */
  ended(end: GeneratorEnd): void;
}

export function isGenerator(value: unknown): value is AnyGenerator {
  return types.isGeneratorObject(value);
}

/**
 * Notes what passes while the program takes the items of a generator that a tool returned.
 *
 * What is replaced: next, return and throw of this one object. Why here: nothing is taken that the program does not
 * take, and it keeps the object it got. What breaks when wrong: only the iteration of that object.
 *
 * @returns what has passed so far, for a generator that is never brought to its end
 */
export function watchGenerator(generator: AnyGenerator, watch: GeneratorWatch): () => GeneratorEnd {
  const isAsync = Symbol.asyncIterator in generator;
  const items: TypedJson[] = [];
  const lost: string[] = [];
  let ended = false;
  const keep = (value: unknown): TypedJson => {
    const encoded = encodeTyped(value);
    lost.push(...encoded.lost);
    return encoded.json;
  };
  const end = (rest: { value?: unknown; error?: unknown }): void => {
    if (ended) return;
    ended = true;
    const failed = 'error' in rest;
    const last = failed ? { error: keep(rest.error) } : { end: keep(rest.value) };
    const json = { $reenact: 'generator', value: { async: isAsync, items, ...last } };
    watch.ended({ json, lost, failed, ...(failed && { error: rest.error }) });
  };
  const stepped = (result: IteratorResult<unknown>): void => {
    if (result.done === true) end({ value: result.value });
    else if (!ended) items.push(keep(result.value));
  };
  for (const name of ['next', 'return', 'throw'] as const) {
    const original = generator[name];
    const step = function (this: unknown, ...args: unknown[]): unknown {
      let result: unknown;
      try {
        result = watch.within(() => original.apply(this, args));
      } catch (error) {
        end({ error });
        throw error;
      }
      if (!isAsync) stepped(result as IteratorResult<unknown>);
      else (result as Promise<IteratorResult<unknown>>).then(stepped, (error: unknown) => end({ error }));
      return result;
    };
    Object.defineProperty(generator, name, { value: step, configurable: true, writable: true, enumerable: false });
  }
  return () => ({ json: { $reenact: 'generator', value: { async: isAsync, items } }, lost, failed: false });
}
