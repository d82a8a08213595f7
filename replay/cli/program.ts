import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, CommanderError } from 'commander';
import { ReenactError } from '../../instrumentation/schema/errors';
import type { CommandDefinition, Invocation } from './command';
import { commands } from './commands';
import type { Output } from './output';

export interface CommandLine {
  /** Arguments before `--`. */
  readonly own: readonly string[];
  readonly command: readonly string[] | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly output: Output;
}

/**
 * Parses the arguments and runs the command they name.
 * @throws ReenactError, or what the command throws
 */
export async function runCommandLine(line: CommandLine): Promise<number> {
  const program = new Command('reenact');
  program
    .description('Records, replays and tests the conversations of LLM agents.')
    .usage('COMMAND [options]')
    .exitOverride()
    .showSuggestionAfterError()
    .helpCommand('help [command]', 'show the help of a command')
    .version(readVersion(), '-V, --version', 'show the version')
    .configureOutput({
      writeOut: (text) => line.output.options.stdout.write(text),
      // Errors come back as exceptions and are written by one place, in the form that was asked for.
      writeErr: () => undefined,
    });
  let exitCode = 2;
  for (const definition of commands) {
    addCommand(program, definition, async (invocation) => {
      exitCode = await definition.run({
        ...invocation,
        command: line.command,
        env: line.env,
        cwd: line.cwd,
        output: line.output,
      });
    });
  }
  if (line.own.length === 0) throw new ReenactError('USAGE', 'no command was given');
  const [first, second] = line.own;
  if (first === 'help' && second !== undefined && !program.commands.some((command) => command.name() === second))
    throw new ReenactError('UNKNOWN_COMMAND', `unknown command '${second}'`);
  try {
    await program.parseAsync([...line.own], { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError && isHelp(error)) return 0;
    throw error;
  }
  return exitCode;
}

type Parsed = Pick<Invocation, 'args' | 'options'>;

function addCommand(program: Command, definition: CommandDefinition, action: (parsed: Parsed) => Promise<void>): void {
  const command = program
    .command(definition.name, { hidden: definition.hidden === true })
    .summary(definition.summary)
    .description(definition.summary);
  definition.configure(command);
  command
    .usage(definition.usage)
    .option('--json', 'print one JSON document on stdout')
    .option('--report <file>', 'write the JSON document to a file as well')
    .allowExcessArguments(false)
    .action(async () => {
      await action({ args: command.processedArgs as Invocation['args'], options: command.opts() });
    });
}

function isHelp(error: CommanderError): boolean {
  return ['commander.helpDisplayed', 'commander.help', 'commander.version'].includes(error.code);
}

function readVersion(): string {
  // From dist/replay/cli and from replay/cli alike the package's own file is the first one upwards that has this name.
  for (const up of ['../../..', '../..']) {
    try {
      const { name, version } = JSON.parse(readFileSync(join(__dirname, up, 'package.json'), 'utf8')) as {
        name: string;
        version: string;
      };
      if (name === 'reenact') return version;
    } catch {
      // Not there at this depth; the other one is.
    }
  }
  return '0.0.0';
}
