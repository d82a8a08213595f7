import { runInThisContext } from 'node:vm';
import type { Config, DeclaredFunctions } from '../../instrumentation/config';
import { ReenactError } from '../../instrumentation/schema/errors';
import type { FunctionCallRecord } from '../player/recorded-calls';

/**
 * The test runner that loads modules by a loader of its own, past the hooks by which declared functions are wrapped:
 * jest (and vitest's `vmThreads`) have another global object, vitest another module runner.
 */
export function ownLoader(env: Readonly<Record<string, string | undefined>> = process.env): boolean {
  return runInThisContext('globalThis') !== globalThis || env['VITEST'] === 'true';
}

/**
 * In such a runner a declared tool would run for real, so a log that holds calls of one is refused.
 * @throws ReenactError DECLARED_NOT_REACHED
 */
export function refuseDeclared(config: Config, recorded: readonly FunctionCallRecord[]): void {
  if (!ownLoader()) return;
  const names = {
    tool: (config.file.tools ?? []).flatMap(namesOf),
    observation: (config.file.observe ?? []).flatMap(namesOf),
  };
  for (const call of recorded) {
    const name = call.kind === 'tool' ? call.tool : call.key;
    if (!names[call.kind].some((declared) => declared === name || declared === '*')) continue;
    throw new ReenactError(
      'DECLARED_NOT_REACHED',
      `${name} is declared in ${config.configPath ?? 'the configuration'}, and this test runner loads modules past our hooks`,
    );
  }
}

/** Names in recordings; `*` where only the loaded module knows them. */
function namesOf(declared: DeclaredFunctions): string[] {
  return declared.exports.map((path) => {
    const named = Object.hasOwn(declared.names ?? {}, path) ? declared.names?.[path] : undefined;
    if (named !== undefined) return named;
    const last = path.slice(path.lastIndexOf('.') + 1);
    return last === 'default' ? '*' : last;
  });
}
