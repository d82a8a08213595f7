import { existsSync, readFileSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { checkConfigFile } from './config-file';
import type { ConfigFile } from './config-file';
import { ReenactError } from './schema/errors';

export type { ConfigFile, DeclaredFunctions } from './config-file';

export type Mode = 'record' | 'replay' | 'off';

export interface Config {
  readonly mode: Mode;
  /** `REENACT_RECORD=off`: nothing is recorded. */
  readonly record: 'on' | 'off';
  /** Absolute path of the local store. */
  readonly store: string;
  /** False with `REENACT_SPOOL=off`. */
  readonly spool: boolean;
  readonly runId: string | undefined;
  readonly processPath: string;
  readonly sessionId: string | undefined;
  readonly replayRef: string | undefined;
  readonly debug: boolean;
  /** Folder that module names of the file are resolved from. */
  readonly configDir: string;
  /** Absolute path of the configuration file, when there is one. */
  readonly configPath: string | undefined;
  readonly file: ConfigFile;
  /** OTLP settings, from the `OTEL_*` variables of the OpenTelemetry specification. */
  readonly otlp: {
    /** Full URL of the traces endpoint; undefined: local file only. */
    readonly url: string | undefined;
    /** Undefined: JSON, and protobuf for a receiver that takes none. */
    readonly protocol: 'http/json' | 'http/protobuf' | undefined;
    readonly headers: Readonly<Record<string, string>>;
    readonly timeoutMs: number;
    readonly compression: 'none' | 'gzip';
  };
  readonly serviceName: string;
  readonly resourceAttributes: Readonly<Record<string, string>>;
}

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Reads the environment and `reenact.config.json` of `cwd` (`REENACT_CONFIG` names another file).
 * @throws ReenactError CONFIG_INVALID, UNKNOWN_MODE
 */
export function readConfig(env: Env = process.env, cwd: string = process.cwd()): Config {
  const configPath = env['REENACT_CONFIG'] ? resolve(cwd, env['REENACT_CONFIG']) : join(cwd, 'reenact.config.json');
  return {
    mode: readMode(env),
    record: env['REENACT_RECORD'] === 'off' || env['OTEL_SDK_DISABLED'] === 'true' ? 'off' : 'on',
    store: absolute(env['REENACT_DIR'] || '.reenact', cwd),
    spool: env['REENACT_SPOOL'] !== 'off',
    runId: env['REENACT_RUN_ID'] || undefined,
    processPath: env['REENACT_PROCESS'] || '0',
    sessionId: env['REENACT_SESSION'] || undefined,
    replayRef: env['REENACT_REPLAY'] || undefined,
    debug: env['REENACT_DEBUG'] === '1',
    configDir: resolve(configPath, '..'),
    configPath: existsSync(configPath) ? configPath : undefined,
    file: readConfigFile(configPath, env['REENACT_CONFIG'] !== undefined),
    otlp: readOtlp(env),
    serviceName:
      env['OTEL_SERVICE_NAME'] || parsePairs(env['OTEL_RESOURCE_ATTRIBUTES'])['service.name'] || 'unknown_service:node',
    resourceAttributes: parsePairs(env['OTEL_RESOURCE_ATTRIBUTES']),
  };
}

function readMode(env: Env): Mode {
  const mode = env['REENACT_MODE'] || 'record';
  if (mode === 'record' || mode === 'replay' || mode === 'off') return mode;
  throw new ReenactError('UNKNOWN_MODE', `REENACT_MODE is ${JSON.stringify(mode)}`);
}

function absolute(path: string, cwd: string): string {
  return isAbsolute(path) ? path : resolve(cwd, path);
}

function readConfigFile(path: string, required: boolean): ConfigFile {
  if (!existsSync(path)) {
    if (required) throw new ReenactError('CONFIG_INVALID', `REENACT_CONFIG names ${path}, which does not exist`);
    return {};
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new ReenactError('CONFIG_INVALID', `${path} is not JSON: ${(cause as Error).message}`, { cause });
  }
  return checkConfigFile(parsed, path);
}

function readOtlp(env: Env): Config['otlp'] {
  const own = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];
  const shared = env['OTEL_EXPORTER_OTLP_ENDPOINT'];
  const off = env['OTEL_TRACES_EXPORTER'] === 'none';
  const protocol = env['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'] || env['OTEL_EXPORTER_OTLP_PROTOCOL'];
  const timeout = Number(env['OTEL_EXPORTER_OTLP_TRACES_TIMEOUT'] || env['OTEL_EXPORTER_OTLP_TIMEOUT'] || 10_000);
  const compression = env['OTEL_EXPORTER_OTLP_TRACES_COMPRESSION'] || env['OTEL_EXPORTER_OTLP_COMPRESSION'];
  return {
    url: off ? undefined : own || (shared ? `${shared.replace(/\/+$/, '')}/v1/traces` : undefined),
    protocol: protocol === 'http/json' || protocol === 'http/protobuf' ? protocol : undefined,
    headers: {
      ...parsePairs(env['OTEL_EXPORTER_OTLP_HEADERS']),
      ...parsePairs(env['OTEL_EXPORTER_OTLP_TRACES_HEADERS']),
    },
    timeoutMs: Number.isFinite(timeout) && timeout > 0 ? timeout : 10_000,
    compression: compression === 'gzip' ? 'gzip' : 'none',
  };
}

/** `key=value,key=value` with percent-encoded values, as OTEL_RESOURCE_ATTRIBUTES and OTEL_EXPORTER_OTLP_HEADERS. */
function parsePairs(text: string | undefined): Record<string, string> {
  const pairs = (text ?? '').split(',').flatMap((part): [string, string][] => {
    const at = part.indexOf('=');
    return at <= 0 ? [] : [[part.slice(0, at).trim(), decodePercent(part.slice(at + 1).trim())]];
  });
  return Object.fromEntries(pairs);
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // The specification asks for percent-encoding; a value that is not encoded is taken as written.
    return text;
  }
}
