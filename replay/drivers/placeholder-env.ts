import type { ProcessRecord } from '../../instrumentation/schema/records';

/** Long enough for clients that check the length of a key, and plainly not one. */
const PLACEHOLDER = 'reenact-placeholder-0000000000000000';

/** Names that would change how Node or a shell runs rather than what the program reads. */
const NEVER =
  /^(NODE_|npm_|REENACT_|OTEL_|LD_|DYLD_|PATH$|PATHEXT$|SHELL$|IFS$|ENV$|BASH_|PYTHON|SSL_|HOME$|TMPDIR$|PWD$|OLDPWD$|SHLVL$|_$|https?_proxy$|no_proxy$|HTTPS?_PROXY$|NO_PROXY$|DEBUG$|CI$|TERM$|COLORTERM$|NO_COLOR$|FORCE_COLOR$|JEST_|VITEST)/;

/**
 * Variables the recording had and this environment lacks: the recorded value where it was allow-listed, else a
 * placeholder, so that `new OpenAI()` does not fail for want of a key. A log never sets what steers the runtime.
 */
export function placeholderEnv(
  processes: readonly ProcessRecord[],
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const recorded = processes.find((record) => record.processPath === '0')?.env ?? {};
  return Object.fromEntries(
    Object.entries(recorded)
      .filter(([name]) => environment[name] === undefined && /^[A-Za-z_]\w*$/.test(name) && !NEVER.test(name))
      .map(([name, value]): [string, string] => [name, value ?? PLACEHOLDER]),
  );
}
