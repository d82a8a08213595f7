import type { Command } from 'commander';
import { readConfig } from '../../instrumentation/config';
import type { ExecutionLog } from '../../instrumentation/schema/execution-log';
import { requireOne, resolveRef } from '../log/resolve-ref';
import type { Invocation } from './command';
import { textOption } from './command';

/** What a reference stands for. */
export interface Resolved {
  readonly logs: ExecutionLog[];
  readonly origin: 'store' | 'file' | 'backend';
}

/** Adds `--from SOURCE`. */
export function addSourceOption(command: Command): Command {
  return command.option('--from <source>', 'local (default), otlp=FILE|DIR, jaeger=URL, tempo=URL or clickhouse=URL');
}

/** Absolute path of the local store. */
export function storeOf(invocation: Invocation): string {
  return readConfig(invocation.env, invocation.cwd).store;
}

/** Finds the logs of a reference. */
export async function resolveLogs(invocation: Invocation, ref: string): Promise<Resolved> {
  const from = textOption(invocation, 'from');
  const found = await resolveRef(ref, { store: storeOf(invocation), ...(from !== undefined && { from }) });
  return { logs: found.logs, origin: found.origin };
}

/** Finds the one log of a reference. */
export async function resolveOne(invocation: Invocation, ref: string): Promise<ExecutionLog> {
  return requireOne((await resolveLogs(invocation, ref)).logs, ref);
}
