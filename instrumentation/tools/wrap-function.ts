import type { AnyFunction, DeclaredSpec } from './declared';

/** One call of a wrapped function. */
export interface WrappedCall {
  readonly spec: DeclaredSpec;
  readonly fn: AnyFunction;
  readonly thisArg: unknown;
  readonly args: unknown[];
}

/** Makes the call: records it, and runs the function or answers in its place. */
export type CallFunction = (call: WrappedCall) => unknown;

export type FunctionKind = 'sync' | 'async' | 'generator' | 'async-generator' | 'class';

/** The mark that every copy of the package knows a wrapped function by. */
const WRAPPED = Symbol.for('reenact.wrapped');
const MARK: PropertyDescriptor = { value: true, configurable: true, enumerable: false, writable: false };

const functionText = Function.prototype.toString;

/** True for a function that this or another copy of the package has wrapped. */
export function isWrapped(fn: AnyFunction): boolean {
  return Object.hasOwn(fn, WRAPPED);
}

/**
 * Wraps a function so that only the call itself is ours. A proxy rather than a function with copied properties: own
 * properties stay those of the original in both directions (`getOrder.cache`, a schema set later), and so do name,
 * length, prototype, constructor, `new`, and what `util.inspect` prints.
 */
export function wrapFunction<F extends AnyFunction>(spec: DeclaredSpec, fn: F, call: CallFunction): F {
  if (isWrapped(fn)) return fn;
  return new Proxy(fn, {
    apply: (target, thisArg, args: unknown[]) => call({ spec, fn: target, thisArg, args }),
    // Function.prototype.toString of a proxy hides the source, and some frameworks read parameter names from it.
    get: (target, key, receiver) => {
      const value: unknown = Reflect.get(target, key, receiver);
      return key === 'toString' && value === functionText ? () => functionText.call(target) : value;
    },
    getOwnPropertyDescriptor: (target, key) =>
      key === WRAPPED && Object.isExtensible(target) ? MARK : Reflect.getOwnPropertyDescriptor(target, key),
  });
}

/** What a call of the function gives; an ES5 constructor with methods counts as a class. */
export function functionKind(fn: AnyFunction): FunctionKind {
  if (functionText.call(fn).startsWith('class')) return 'class';
  const tag = Object.prototype.toString.call(fn);
  if (tag === '[object AsyncFunction]') return 'async';
  if (tag === '[object GeneratorFunction]') return 'generator';
  if (tag === '[object AsyncGeneratorFunction]') return 'async-generator';
  const prototype: unknown = Object.getOwnPropertyDescriptor(fn, 'prototype')?.value;
  const methods = typeof prototype === 'object' && prototype !== null ? Reflect.ownKeys(prototype) : [];
  return methods.some((key) => key !== 'constructor') ? 'class' : 'sync';
}
