import { spawn } from 'node:child_process';
import type { ChildProcess, StdioOptions } from 'node:child_process';
import { constants } from 'node:os';
import { resolve } from 'node:path';
import { ReenactError } from '../../instrumentation/schema/errors';

/** Where the program's stdout goes; stdin and stderr are always our own unless it is `capture`. */
export type ProgramOutput = 'inherit' | 'to-stderr' | 'capture';

export interface RunProgramOptions {
  readonly command: readonly string[];
  readonly cwd: string;
  /** Set beside the caller's environment; `undefined` removes a variable. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly output: ProgramOutput;
  /** With `capture`: every piece of stdout and stderr. */
  readonly onOutput?: (piece: Buffer) => void;
  /** The program is stopped after this time. */
  readonly timeoutMs?: number;
}

export interface ProgramEnd {
  /** As a shell reports it: 128 + n after signal n. */
  readonly exitCode: number;
  readonly signal: NodeJS.Signals | null;
  readonly timedOut: boolean;
}

/** Compiled entry that records or replays, by the variables of the process. */
export function preloadPath(): string {
  return resolve(__dirname, '../../instrumentation/register.js');
}

/** `NODE_OPTIONS` with our preload in front of what is there, so that it sees every module load. */
export function withPreload(existing: string | undefined, path: string = preloadPath()): string {
  const own = `--require ${/[\s"\\]/.test(path) ? `"${path.replace(/[\\"]/g, '\\$&')}"` : path}`;
  if (!existing) return own;
  return existing.includes(own) ? existing : `${own} ${existing}`;
}

const FORWARDED: readonly NodeJS.Signals[] =
  process.platform === 'win32' ? ['SIGINT', 'SIGTERM'] : ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGUSR2'];

/** After the program itself has ended, how long a child of its own may keep a captured pipe open. */
const DRAIN_MS = 1_000;

/**
 * Runs a program to its end with our stdin and stderr, forwarding signals.
 * @throws ReenactError COMMAND_MISSING, COMMAND_NOT_FOUND
 */
export function runProgram(options: RunProgramOptions): Promise<ProgramEnd> {
  const [file, ...args] = options.command;
  if (file === undefined || file === '') {
    return Promise.reject(new ReenactError('COMMAND_MISSING', 'no command was given'));
  }
  return new Promise((fulfil, reject) => {
    // A group of its own, so that a time limit ends its children too. With a terminal shared, job control must stay.
    const ownGroup = options.output === 'capture' && process.platform !== 'win32';
    const child = spawn(file, args, {
      cwd: options.cwd,
      env: mergeEnv(options.env),
      stdio: stdioFor(options.output),
      detached: ownGroup,
    });
    child.stdout?.on('data', (piece: Buffer) => options.onOutput?.(piece));
    child.stderr?.on('data', (piece: Buffer) => options.onOutput?.(piece));
    const stopForwarding = forwardSignals((signal) => child.kill(signal), ownGroup);
    const limit = startLimit(options.timeoutMs, () => endNow(child, ownGroup));
    child.once('error', (cause: NodeJS.ErrnoException) => {
      limit.stop();
      stopForwarding();
      reject(startError(file, options.cwd, cause));
    });
    child.once('exit', (code, signal) => {
      limit.stop();
      stopForwarding();
      const end = { exitCode: code ?? signalCode(signal), signal, timedOut: limit.passed() };
      if (options.output !== 'capture') return fulfil(end);
      const drain = setTimeout(() => fulfil(end), DRAIN_MS);
      child.once('close', () => {
        clearTimeout(drain);
        fulfil(end);
      });
    });
  });
}

function startLimit(ms: number | undefined, end: () => void): { stop: () => void; passed: () => boolean } {
  let passed = false;
  if (ms === undefined) return { stop: () => undefined, passed: () => false };
  const timer = setTimeout(() => {
    passed = true;
    end();
  }, ms);
  return { stop: () => clearTimeout(timer), passed: () => passed };
}

function endNow(child: ChildProcess, ownGroup: boolean): void {
  try {
    if (ownGroup && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    else child.kill('SIGKILL');
  } catch {
    // It ended between the two lines; the exit event is on its way.
  }
}

function mergeEnv(changes: Readonly<Record<string, string | undefined>>): NodeJS.ProcessEnv {
  const merged = { ...process.env, ...changes };
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== undefined));
}

function stdioFor(output: ProgramOutput): StdioOptions {
  if (output === 'capture') return ['ignore', 'pipe', 'pipe'];
  return ['inherit', output === 'to-stderr' ? 2 : 'inherit', 'inherit'];
}

/** The exit code that a shell gives a program ended by a signal. */
function signalCode(signal: NodeJS.Signals | null): number {
  return 128 + (signal === null ? 0 : (constants.signals[signal] ?? 0));
}

/**
 * A terminal sends SIGINT and SIGQUIT to the whole process group, so the program has them already and a second one
 * would make it give up half-way; we only must not die before it. All other signals came to us alone.
 */
function forwardSignals(send: (signal: NodeJS.Signals) => void, ownGroup: boolean): () => void {
  const handlers = FORWARDED.map((signal) => {
    const sharedByTerminal = !ownGroup && (signal === 'SIGINT' || signal === 'SIGQUIT') && process.stdin.isTTY === true;
    const handler = (): void => {
      if (!sharedByTerminal) send(signal);
    };
    process.on(signal, handler);
    return { signal, handler };
  });
  return () => {
    for (const { signal, handler } of handlers) process.removeListener(signal, handler);
  };
}

function startError(file: string, cwd: string, cause: NodeJS.ErrnoException): ReenactError {
  if (cause.code === 'ENOENT' || cause.code === 'EACCES' || cause.code === 'ENOTDIR') {
    const why = cause.code === 'EACCES' ? 'may not be executed' : 'was not found';
    return new ReenactError('COMMAND_NOT_FOUND', `${file} ${why} (working directory ${cwd})`, { cause });
  }
  return new ReenactError('COMMAND_NOT_FOUND', `${file} could not be started: ${cause.message}`, { cause });
}
