import { basename, isAbsolute, relative, resolve } from 'node:path';
import { ReenactError } from '../../../instrumentation/schema/errors';
import { parseAssertion } from '../../scenarios/assertions';
import type { AssertionSpec } from '../../scenarios/assertions';
import { writePromoted } from '../../scenarios/promote';
import type { Runner } from '../../scenarios/runner';
import { checkSets, toOverrides } from '../../player/set-texts';
import type { CommandDefinition, Invocation } from '../command';
import { collect, listOption, required, textOption } from '../command';
import { readPolicy, recordedCommand } from '../replay-options';
import { addSourceOption, resolveLogs } from '../source-options';
import type { Resolved } from '../source-options';
import { requireOne } from '../../log/resolve-ref';
import { readJsonFile } from '../json-file';

const RUNNERS: readonly Runner[] = ['jest', 'vitest', 'node'];

/** `reenact promote REF --assert A`: keeps a conversation as a regression test. */
export const promote: CommandDefinition = {
  name: 'promote',
  usage: 'REF --assert A [-o DIR] [--name N] [--runner R] [-- CMD…]',
  summary: 'keep a conversation as a regression test',
  configure: (command) => {
    addSourceOption(command.argument('<ref>'))
      .option('--assert <assertion>', 'what must hold: JSON, @FILE or a short form; may repeat', collect)
      .option('--set <turn=value>', 'answer a turn with another value; may repeat', collect)
      .option('--on-divergence <policy>', 'what a call gets that no recording answers')
      .option('--ignore <pointer>', 'part of request bodies that does not count; may repeat', collect)
      .option('--name <name>', 'name of the scenario and of its files')
      .option('--runner <runner>', 'write a test file for jest, vitest or node as well')
      .option('-o, --output <dir>', 'folder for the files; the working directory without it')
      .option('--force', 'replace files of this name');
  },
  run: async (invocation) => {
    const { cwd, output } = invocation;
    const assertions = readAssertions(invocation);
    const runner = readRunner(textOption(invocation, 'runner'));
    const policy = textOption(invocation, 'onDivergence');
    const onDivergence = policy === undefined ? undefined : readPolicy(policy);
    const resolved = await resolveLogs(invocation, required(invocation, 0));
    const log = requireOne(resolved.logs);
    const sets = checkSets(listOption(invocation, 'set'), [log], cwd);
    const ignore = listOption(invocation, 'ignore');
    const files = await writePromoted({
      log,
      directory: resolve(cwd, textOption(invocation, 'output') ?? '.'),
      name: safeName(textOption(invocation, 'name') ?? log.sessionId),
      command: portable(chooseCommand(invocation, resolved)),
      assertions,
      ...toOverrides(sets),
      ...(ignore.length > 0 && { ignore }),
      ...(onDivergence !== undefined && { onDivergence }),
      ...(runner !== undefined && { runner }),
      replace: invocation.options['force'] === true,
    });
    output.result({ files }, files.map((file) => `${file}\n`).join(''));
    return 0;
  },
};

function readAssertions(invocation: Invocation): AssertionSpec[] {
  const texts = listOption(invocation, 'assert');
  if (texts.length === 0)
    throw new ReenactError('ASSERTION_INVALID', 'a scenario needs at least one --assert', {
      hint: 'For example --assert calls:get_order; see docs/reference/assertions.md.',
    });
  return texts.flatMap((text) => {
    if (!text.startsWith('@')) return [parseAssertion(text)];
    const content = readJsonFile(text.slice(1), { cwd: invocation.cwd, code: 'ASSERTION_INVALID' });
    return (Array.isArray(content) ? content : [content]).map(parseAssertion);
  });
}

function readRunner(text: string | undefined): Runner | undefined {
  const runner = RUNNERS.find((candidate) => candidate === text);
  if (text === undefined || runner !== undefined) return runner;
  throw new ReenactError('USAGE', `--runner takes ${RUNNERS.join(', ')}, not ${JSON.stringify(text)}`);
}

/** A session id may hold anything; a file name may not. */
function safeName(text: string): string {
  const name = text
    .replace(/[^\p{L}\p{N}._-]+/gu, '-')
    .replace(/^[.-]+|-+$/g, '')
    .slice(0, 80);
  return name === '' ? 'scenario' : name;
}

function chooseCommand(invocation: Invocation, resolved: Resolved): readonly string[] {
  if (invocation.command !== undefined && invocation.command.length > 0) return invocation.command;
  const recorded = recordedCommand(resolved.logs);
  if (recorded === undefined)
    throw new ReenactError('COMMAND_MISSING', 'the log names no command that a test could run');
  if (resolved.origin === 'store') return recorded.command.map((part) => belowFolder(part, recorded.cwd));
  throw new ReenactError(
    'COMMAND_NOT_TRUSTED',
    `the log was not recorded in this store; it was recorded with: ${recorded.command.join(' ')}`,
  );
}

/** A recorded script is an absolute path; in a scenario it must be found from the folder the test runs in. */
function belowFolder(part: string, folder: string): string {
  const path = isAbsolute(part) ? relative(folder, part) : part;
  return path === '' || path.startsWith('..') || isAbsolute(path) ? part : path;
}

/** Node's own binary as `node`: the path of this machine means nothing on another. */
function portable(command: readonly string[]): string[] {
  return command.map((part, index) =>
    index === 0 && (part === process.execPath || /^node(\.exe)?$/.test(basename(part))) ? 'node' : part,
  );
}
