import { CommanderError } from 'commander';
import { ReenactError } from '../../instrumentation/schema/errors';
import type { ErrorCode } from '../../instrumentation/schema/errors';

const COMMANDER_CODES: Readonly<Record<string, ErrorCode>> = {
  'commander.unknownCommand': 'UNKNOWN_COMMAND',
  'commander.unknownOption': 'UNKNOWN_OPTION',
};

const FILE_CODES: Readonly<Record<string, ErrorCode>> = {
  ENOENT: 'FILE_NOT_FOUND',
  ENOTDIR: 'FILE_NOT_FOUND',
  EISDIR: 'FILE_NOT_FOUND',
  EACCES: 'FILE_NOT_WRITABLE',
  EPERM: 'FILE_NOT_WRITABLE',
  EROFS: 'FILE_NOT_WRITABLE',
  ENOSPC: 'FILE_NOT_WRITABLE',
};

/** Any failure as one with a code of our table. */
export function asReenactError(error: unknown): ReenactError {
  if (error instanceof ReenactError) return error;
  if (error instanceof CommanderError) return commanderError(error);
  const system = error as NodeJS.ErrnoException;
  const code = FILE_CODES[system?.code ?? ''];
  if (code !== undefined) return new ReenactError(code, system.message, { cause: error });
  const wrapped = new ReenactError('INTERNAL', error instanceof Error ? error.message : String(error), {
    cause: error,
  });
  if (error instanceof Error && error.stack !== undefined) wrapped.stack = error.stack;
  return wrapped;
}

function commanderError(error: CommanderError): ReenactError {
  const message = error.message.replace(/^error: /, '').replace(/\s*\n\s*/g, ' ');
  if (error.code === 'commander.excessArguments')
    return new ReenactError('USAGE', message, {
      cause: error,
      hint: 'A program to run stands behind two dashes: reenact COMMAND … -- node agent.js',
    });
  return new ReenactError(COMMANDER_CODES[error.code] ?? 'USAGE', message, { cause: error });
}
