import { closeSync, openSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../instrumentation/config';
import { OtlpBodies } from './otlp-body';
import { OtlpClient } from './otlp-http';
import { spoolFiles } from './local-store';
import { SpanSender } from './span-sender';
import { openSpoolAccess, readSent } from './spool-access';
import { runsFolder, SPOOL_END } from './store-paths';

/** What became of the spans that earlier processes could not send. */
export interface SpoolReport {
  /** Files that still hold spans to send. */
  readonly waiting: number;
  /** Spans the endpoint will never have. */
  readonly lost: number;
  /** Last failure, for a person. */
  readonly message?: string;
}

export interface SendSpoolOptions {
  /** The process may end meanwhile: what is under way does not keep it alive. */
  readonly background?: boolean;
  readonly untracked?: <T>(fn: () => T) => T;
  readonly timers?: Pick<typeof globalThis, 'setTimeout' | 'clearTimeout'>;
  readonly now?: () => number;
}

/** Another sender that does not let go for this long has died. */
const STALE_LOCK_MS = 60_000;

/** Sends what earlier processes of the configured store could not. Never rejects. */
export function sendWaiting(config: Config, deadlineMs: number, options: SendSpoolOptions = {}): Promise<SpoolReport> {
  return sendSpool({ store: config.store, otlp: config.otlp, deadlineMs }, options);
}

/** The same for any store and endpoint. Files of living processes are theirs to send. */
export async function sendSpool(
  { store, otlp, deadlineMs }: { store: string; otlp: Config['otlp']; deadlineMs: number },
  options: SendSpoolOptions = {},
): Promise<SpoolReport> {
  if (otlp.url === undefined) return { waiting: 0, lost: 0 };
  const now = options.now ?? Date.now.bind(Date);
  const timers = options.timers ?? { setTimeout, clearTimeout };
  const untracked = options.untracked ?? ((fn) => fn());
  const bodies = new OtlpBodies(otlp.protocol);
  const client = new OtlpClient({
    otlp,
    untracked,
    timers,
    now,
    contentType: () => bodies.contentType,
    partialSuccess: (body, type) => bodies.answer(body, type),
  });
  const end = now() + deadlineMs;
  let lost = 0;
  let waiting = 0;
  let message: string | undefined;
  for (const file of waitingFiles(store)) {
    const unlock = now() < end && message === undefined ? lock(file, now()) : undefined;
    if (unlock !== undefined) {
      const sender = new SpanSender({
        client,
        bodies,
        spool: openSpoolAccess(file, (error) => (message ??= String(error))),
        maxBytes: 0,
        timeoutMs: otlp.timeoutMs,
        timers,
        now,
        untracked,
        failed: (what, text) => {
          if (what === 'lost') lost += 1;
          else message ??= text;
        },
      });
      // The process may end while this waits in the background; then the next one must find the file free.
      process.once('exit', unlock);
      await sender.flushSpool(Math.max(1, end - now()), options.background !== true);
      process.removeListener('exit', unlock);
      unlock();
    }
    if (isWaiting(file)) waiting += 1;
  }
  client.close();
  return { waiting, lost, ...(message !== undefined && { message }) };
}

/** Spool files with spans that were meant to be sent and were not. */
export function waitingFiles(store: string): string[] {
  let runs: string[];
  try {
    runs = readdirSync(runsFolder(store));
  } catch {
    // No store, or none that can be read: nothing to send. `listRuns` tells a person about the latter.
    return [];
  }
  return runs
    .flatMap((run) => spoolFiles(join(runsFolder(store), run)))
    .filter((file) => isWaiting(file) && !isAlive(file));
}

function isWaiting(file: string): boolean {
  const sent = readSent(file);
  return sent !== undefined && sent < (statSync(file, { throwIfNoEntry: false })?.size ?? 0);
}

/** Whether the process that writes the file still runs: its number is the end of the file's name. */
function isAlive(file: string): boolean {
  const pid = Number(/-(\d+)$/.exec(file.slice(0, -SPOOL_END.length))?.[1] ?? 0);
  if (pid === 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Keeps two senders from sending one file twice; `undefined` when another one is at it. */
function lock(file: string, now: number): (() => void) | undefined {
  const path = `${file}.sending`;
  try {
    const held = statSync(path, { throwIfNoEntry: false });
    if (held !== undefined && now - held.mtimeMs > STALE_LOCK_MS) rmSync(path, { force: true });
    closeSync(openSync(path, 'wx', 0o600));
    return () => rmSync(path, { force: true });
  } catch {
    // Held by another sender, or the store is read-only: then nothing could be noted as sent.
    return undefined;
  }
}
