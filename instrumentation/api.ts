import { activeRuntime } from './runtime';
import type { DeclaredSpec } from './tools/declared';
import { wrapFunction } from './tools/wrap-function';
import type { OutcomeDetails, SessionOptions } from './runtime';

type AnyFunction = (...args: never[]) => unknown;

/**
 * Runs `fn` as one conversation: every call made in it, through any asynchronous code, belongs to that session.
 * Returns what `fn` returns. Without the preload it only calls `fn`.
 *
 * @example
 * const answer = await session({ id: 'customer-42', agentVersion: '1.4.0' }, () => runAgent(message));
 */
export function session<T>(options: SessionOptions, fn: () => T): T {
  const runtime = activeRuntime();
  return runtime === undefined ? fn() : runtime.session(options, fn);
}

/**
 * Wraps a tool: its calls are recorded with arguments and result, and answered from the recording in a replay.
 * The function keeps its name, length and synchronous or asynchronous nature.
 *
 * @example
 * const getOrder = tool('get_order', async ({ id }: { id: string }) => db.orders.find(id));
 */
export function tool<F extends AnyFunction>(name: string, fn: F, options: { replay?: 'substitute' | 'run' } = {}): F {
  return wrap({ kind: 'tool', name, replay: options.replay ?? 'substitute' }, fn);
}

/**
 * Wraps every function of an object as a tool named by its key.
 *
 * @example
 * const { getOrder, refund } = tools({ getOrder: async (a) => …, refund: async (a) => … });
 */
export function tools<T extends Record<string, AnyFunction>>(functions: T): T {
  return Object.fromEntries(Object.entries(functions).map(([name, fn]) => [name, tool(name, fn)])) as T;
}

function wrap<F extends AnyFunction>(spec: DeclaredSpec, fn: F): F {
  return wrapFunction(spec, fn, ({ fn: target, thisArg, args }) => {
    const runtime = activeRuntime();
    return runtime === undefined ? Reflect.apply(target, thisArg, args) : runtime.call(spec, target, { thisArg, args });
  });
}

/**
 * Reads something of the environment (a database row, a file, a sensor) so that a replay sees the same value.
 *
 * @example
 * const customer = await observe('customer/42', () => db.customers.get(42));
 */
export function observe<T>(key: string, fn: () => T): T {
  const runtime = activeRuntime();
  return runtime === undefined
    ? fn()
    : (runtime.call({ kind: 'observation', name: key, replay: 'substitute' }, fn, {
        thisArg: undefined,
        args: [],
      }) as T);
}

/**
 * States a decision the agent made, for people, assertions and comparison.
 *
 * @example
 * decision('route', { to: 'billing', confidence: 0.8 });
 */
export function decision(name: string, data?: unknown): void {
  activeRuntime()?.decision(name, data);
}

/**
 * States how the conversation ended.
 *
 * @example
 * outcome('escalated', { score: 55, reason: 'asked for a person' });
 */
export function outcome(value: 'resolved' | 'escalated' | 'abandoned', details: OutcomeDetails = {}): void {
  activeRuntime()?.outcome(value, details);
}

/**
 * Marks the conversation as failed, so that it is kept and found.
 *
 * @example
 * if (!answer) markFailure('empty answer');
 */
export function markFailure(reason: string): void {
  activeRuntime()?.markFailure(reason);
}
