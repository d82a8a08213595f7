import type { CommandDefinition, Invocation } from '../command';
import { diagnose } from '../doctor/checks';
import type { Check } from '../doctor/checks';
import { tryProgram } from '../doctor/try-program';
import { harmless, oneLine, wrap } from '../terminal-text';

/** `reenact doctor [-- CMD]`: what stands in the way of a recording. Exit 0 when every check is ok, else 1. */
export const doctor: CommandDefinition = {
  name: 'doctor',
  usage: '[-- CMD…]',
  summary: 'check the installation, and with a command what of it can be recorded',
  configure: () => undefined,
  run: async (invocation) => {
    const checks = await diagnose(invocation.env, invocation.cwd);
    if (invocation.command !== undefined && invocation.command.length > 0)
      checks.push(...(await tryProgram(invocation.command, invocation)));
    invocation.output.result({ checks }, checks.map((check) => describe(check, invocation)).join(''));
    return checks.every((check) => check.ok) ? 0 : 1;
  },
};

function describe(check: Check, { output }: Invocation): string {
  const { green, red, dim } = output.palette;
  const mark = check.ok ? green('ok  ') : red('FAIL');
  const lines = wrap(harmless(check.detail), output.width - 6).map((line) => `      ${line}`.trimEnd());
  const hint = check.hint === '' ? [] : wrap(oneLine(check.hint), output.width - 6).map((line) => `      ${dim(line)}`);
  return `${[`${mark}  ${oneLine(check.name)}`, ...lines, ...hint].join('\n')}\n`;
}
