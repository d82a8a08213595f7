import type { Config } from './config';
import { originals } from './originals';
import type { RecorderOptions } from './recorder-options';

/** Variables whose values describe how the program ran and hold no secrets. */
const RECORDED_VARIABLES: readonly RegExp[] = [
  /^(NODE_ENV|TZ|LANG|LC_[A-Z]+|NODE_EXTRA_CA_CERTS)$/,
  /_(BASE_URL|MODEL|API_VERSION|REGION)$/,
  /^OTEL_(SERVICE_NAME|RESOURCE_ATTRIBUTES)$/,
];

/** Variables without which clients refuse to start: the name is recorded, the value never. */
const NAMED_VARIABLES = /_(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS|ID|URL|URI|HOST|PORT|ENDPOINT|DSN|ORG|PROJECT)$/i;

/** Variables of the shell and of ourselves, which say nothing of the program. */
const IGNORED_VARIABLES = /^(_|PWD|OLDPWD|SHLVL|NODE_OPTIONS|REENACT_.*|npm_.*|OTEL_EXPORTER_.*)$/;

function recordedEnv(config: Config): Record<string, string | null> {
  const extra = new Set(config.file.env ?? []);
  const entries = Object.entries(process.env).flatMap(([name, value]): [string, string | null][] => {
    if (IGNORED_VARIABLES.test(name) || value === undefined) return [];
    if (extra.has(name) || RECORDED_VARIABLES.some((pattern) => pattern.test(name))) return [[name, value]];
    return NAMED_VARIABLES.test(name) ? [[name, null]] : [];
  });
  return Object.fromEntries(entries);
}

/** What `reenact record` was told to run: a shell or npm may stand between it and this process. */
function startedBy(): RecorderOptions['facts']['command'] {
  try {
    const { argv, cwd } = JSON.parse(process.env['REENACT_COMMAND'] ?? '') as { argv: unknown; cwd: unknown };
    const isCommand = Array.isArray(argv) && argv.every((item) => typeof item === 'string') && typeof cwd === 'string';
    return isCommand ? { argv: argv as string[], cwd } : undefined;
  } catch {
    // Not started by the command; the arguments of the first process then say how to run it again.
    return undefined;
  }
}

/** What is recorded of the process itself. */
export function processFacts(config: Config, seed: string | undefined): RecorderOptions['facts'] {
  const command = startedBy();
  return {
    pid: process.pid,
    startMs: originals.timeOrigin,
    hrtimeOrigin: String(originals.hrtimeOrigin),
    argv: [...process.argv],
    execArgv: [...process.execArgv],
    cwd: process.cwd(),
    nodeVersion: process.version,
    platform: `${process.platform}-${process.arch}`,
    env: recordedEnv(config),
    ...(command !== undefined && { command }),
    ...(seed !== undefined && { seed }),
    ...(config.replayRef !== undefined && { replayOf: config.replayRef }),
  };
}

/** Epoch milliseconds with fractions, from clocks that the program cannot replace. */
export function realNow(): number {
  return originals.timeOrigin + originals.performanceNow();
}
