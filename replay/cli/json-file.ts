import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ReenactError } from '../../instrumentation/schema/errors';
import type { ErrorCode } from '../../instrumentation/schema/errors';

/**
 * Reads a JSON file that an option names by `@FILE`.
 * @throws ReenactError FILE_NOT_FOUND, or the given code when it is not JSON
 */
export function readJsonFile(name: string, options: { cwd: string; code: ErrorCode }): unknown {
  const path = resolve(options.cwd, name);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new ReenactError('FILE_NOT_FOUND', `${path} cannot be read`, { cause });
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new ReenactError(options.code, `${path} is not JSON: ${(cause as Error).message}`, { cause });
  }
}
