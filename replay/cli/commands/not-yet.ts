import { ReenactError } from '../../../instrumentation/schema/errors';
import type { CommandDefinition } from '../command';

/** A command of the contract that this version lacks: it says so, and never pretends. */
function notYet(name: string, summary: string): CommandDefinition {
  return {
    name,
    usage: '',
    summary: `${summary} (not in this version)`,
    hidden: true,
    configure: (command) => {
      command.argument('[args...]').allowUnknownOption();
    },
    run: () =>
      Promise.reject(
        new ReenactError('USAGE', `the command ${name} is not in this version of reenact`, {
          hint: 'See `reenact --help` for the commands there are.',
        }),
      ),
  };
}

export const mine = notYet('mine', 'find conversations worth a test');
export const serve = notYet('serve', 'receive traces, show them, and answer as a provider');
