import { runInThisContext } from 'node:vm';
import type { Config, DeclaredFunctions } from '../../instrumentation/config';
import { ReenactError } from '../../instrumentation/schema/errors';
import type { DeclaredStatus } from '../../instrumentation/tools/config-declared';
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
  const call = recorded.find((candidate) => isDeclared(candidate, entriesOf(config)));
  if (call !== undefined) throw notReached(config, nameOf(call), 'this test runner loads modules past our hooks');
}

/**
 * A declared module that was loaded before the first replay was not wrapped: its functions have run for real.
 * @param asked the functions that the replay was asked for
 * @throws ReenactError DECLARED_NOT_REACHED
 */
export function refuseLoadedBefore(
  config: Config,
  status: readonly DeclaredStatus[],
  calls: { recorded: readonly FunctionCallRecord[]; asked: readonly FunctionCallRecord[] },
): void {
  const unseen = entriesOf(config).filter(({ kind, declared }) =>
    status.some((entry) => entry.kind === kind && entry.module === declared.module && !entry.loaded),
  );
  const asked = new Set(calls.asked.map((call) => `${call.kind} ${nameOf(call)}`));
  const call = calls.recorded.find(
    (candidate) => isDeclared(candidate, unseen) && !asked.has(`${candidate.kind} ${nameOf(candidate)}`),
  );
  if (call !== undefined) throw notReached(config, nameOf(call), 'its module was loaded before the replay began');
}

interface Entry {
  readonly kind: 'tool' | 'observation';
  readonly declared: DeclaredFunctions;
}

function entriesOf({ file }: Config): Entry[] {
  return [
    ...(file.tools ?? []).map((declared) => ({ kind: 'tool' as const, declared })),
    ...(file.observe ?? []).map((declared) => ({ kind: 'observation' as const, declared })),
  ];
}

function isDeclared(call: FunctionCallRecord, entries: readonly Entry[]): boolean {
  const name = nameOf(call);
  return entries.some(
    ({ kind, declared }) =>
      kind === call.kind && namesOf(declared).some((candidate) => candidate === name || candidate === '*'),
  );
}

const nameOf = (call: FunctionCallRecord): string => (call.kind === 'tool' ? call.tool : call.key);

function notReached(config: Config, name: string, why: string): ReenactError {
  return new ReenactError(
    'DECLARED_NOT_REACHED',
    `${name} is declared in ${config.configPath ?? 'the configuration'}, and ${why}`,
  );
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
