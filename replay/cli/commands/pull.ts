import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { ReenactError } from '../../../instrumentation/schema/errors';
import type { ExecutionLog } from '../../../instrumentation/schema/execution-log';
import { readLogs, writeLogs } from '../../log/log-file';
import type { CommandDefinition } from '../command';
import { required, textOption } from '../command';
import { plural } from '../conversation/words';
import { addSourceOption, resolveLogs } from '../source-options';
import { harmlessJson } from '../terminal-text';

/** `reenact pull REF`: execution logs out of the store or a backend, as JSONL. */
export const pull: CommandDefinition = {
  name: 'pull',
  usage: 'REF [--from SOURCE] [-o FILE]',
  summary: 'take conversations out of the store or a backend, as execution logs',
  configure: (command) => {
    addSourceOption(command.argument('<ref>'))
      .option('-o, --output <file>', 'JSONL file (.gz too); stdout without it')
      .option('--force', 'overwrite whatever file is there');
  },
  run: async (invocation) => {
    const { output } = invocation;
    const target = textOption(invocation, 'output');
    const file = target === undefined ? undefined : resolve(invocation.cwd, target);
    if (file !== undefined) refuseFolder(file);
    const { logs } = await resolveLogs(invocation, required(invocation, 0));
    if (file !== undefined) {
      const replace = invocation.options['force'] === true || (await holdsSameSessions(file, logs));
      await writeLogs(file, logs, { replace });
      output.result(logs.length === 1 ? logs[0] : logs, '');
      output.note(`reenact: wrote ${plural(logs.length, 'log')} to ${target}`);
    } else output.result(logs.length === 1 ? logs[0] : logs, logs.map((log) => `${harmlessJson(log)}\n`).join(''));
    return 0;
  },
};

/** Before anything is fetched: a folder is never written over, with or without `--force`. */
function refuseFolder(file: string): void {
  if (existsSync(file) && !statSync(file).isFile())
    throw new ReenactError('FILE_EXISTS', `${file} is not a file, so it is not written over`, {
      hint: 'Name a file.',
    });
}

/** Pulling a conversation again into its own file brings it up to date; any other file is left alone. */
async function holdsSameSessions(file: string, logs: readonly ExecutionLog[]): Promise<boolean> {
  if (!existsSync(file)) return false;
  try {
    const ids = (items: readonly ExecutionLog[]): string => JSON.stringify(items.map((log) => log.sessionId).sort());
    return ids(await readLogs(file)) === ids(logs);
  } catch (error) {
    // Not a log of ours: the writer then says that the file exists.
    if (error instanceof ReenactError) return false;
    throw error;
  }
}
