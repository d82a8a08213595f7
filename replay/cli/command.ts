import type { Command } from 'commander';
import type { Output } from './output';

/** What a command was called with. */
export interface Invocation {
  /** Positional arguments, as `configure` declared them. */
  readonly args: readonly (string | string[] | undefined)[];
  readonly options: Readonly<Record<string, unknown>>;
  /** What stands after `--`; undefined when there is no `--`. */
  readonly command: readonly string[] | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly output: Output;
}

/** One command. A new one is one such file and one line in the registry. */
export interface CommandDefinition {
  readonly name: string;
  /** Usage of the positional arguments and of what follows `--`, for the help. */
  readonly usage: string;
  readonly summary: string;
  /** Not in the list of commands. */
  readonly hidden?: boolean;
  readonly configure: (command: Command) => void;
  /** Answers the exit code. */
  readonly run: (invocation: Invocation) => Promise<number>;
}

/** A flag that may be given several times. */
export function collect(value: string, previous: string[] | undefined): string[] {
  return [...(previous ?? []), value];
}

/** A positional argument that commander has made sure of. */
export function required(invocation: Invocation, index: number): string {
  const value = invocation.args[index];
  return typeof value === 'string' ? value : '';
}

/** A text option, undefined when it was not given. */
export function textOption(invocation: Invocation, name: string): string | undefined {
  const value = invocation.options[name];
  return typeof value === 'string' ? value : undefined;
}

/** A list option, empty when it was not given. */
export function listOption(invocation: Invocation, name: string): string[] {
  const value = invocation.options[name];
  return Array.isArray(value) ? (value as string[]) : [];
}
