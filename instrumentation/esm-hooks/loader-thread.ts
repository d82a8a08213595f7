/**
 * Hooks for `module.register`, on Nodes without `module.registerHooks`. This file runs on Node's loader thread and
 * shares nothing with the program but the table it is given.
 */
import { Redirect } from './redirect';
import type { Loaded, RedirectTable, ResolveContext, Resolved } from './redirect';

const thread: { redirect?: Redirect } = {};

export function initialize(table: RedirectTable): void {
  thread.redirect = new Redirect(table);
}

export async function resolve(
  specifier: string,
  context: ResolveContext,
  next: (specifier: string, context: ResolveContext) => Promise<Resolved>,
): Promise<Resolved> {
  const result = await next(specifier, context);
  try {
    return thread.redirect?.resolved(result, specifier, context) ?? result;
  } catch {
    // The module is not wrapped, which the status of declared modules says; the program must load it all the same.
    return result;
  }
}

export async function load(
  url: string,
  context: unknown,
  next: (url: string, context: unknown) => Promise<unknown>,
): Promise<Loaded | unknown> {
  return thread.redirect?.load(url) ?? next(url, context);
}
