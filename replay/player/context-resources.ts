import { createHook } from 'node:async_hooks';
import type { ResourcesBusy } from './quiescence';

/**
 * Requests to the system that come back by themselves: files and names. Not those of cryptography: the synchronous ones
 * look alike and end only when they are collected.
 */
const REQUEST = /^(FSREQ|GETADDRINFOREQ|GETNAMEINFOREQ|QUERYWRAP)/;

/**
 * Counts what the replayed code alone has under way; all else of the process (a test runner at work) may go on for ever.
 * `end` stops counting.
 */
export function contextResources(applies: () => boolean): { busy: ResourcesBusy; end: () => void } {
  const underWay = new Set<number>();
  const done = (id: number): void => void underWay.delete(id);
  const hook = createHook({
    init(id, type) {
      if (REQUEST.test(type) && applies()) underWay.add(id);
    },
    after: done,
    destroy: done,
  });
  hook.enable();
  return { busy: () => underWay.size > 0, end: () => void hook.disable() };
}
