/**
 * The preload: `node --require reenact/register app.js`. Composition root of recording; the only file here that knows
 * the exporter, and, for `REENACT_MODE=replay`, the replay.
 */
import { hostSpans } from '../exporter/host-opentelemetry';
import { createRedactor } from '../exporter/redact';
import { createSink } from '../exporter/sink';
import { liveGate } from './call-gate';
import { composeRecorder } from './compose-recorder';
import type { Composed } from './compose-recorder';
import { readConfig } from './config';
import type { Config } from './config';
import { Diagnostics } from './diagnostics';
import { originals } from './originals';
import { CLAIMS_VARIABLE, claimProcessPath } from './process-claim';
import { ReenactError } from './schema/errors';
import type { RecordSink } from './schema/records';
import type { PreloadedReplay } from '../replay/drivers/preloaded';
import { activeRuntime } from './runtime';
import { whereAmI } from './threads';
import { inheritedVariables } from './worker-threads';

/** How long the end of the program may wait for the endpoint. */
const EXIT_FLUSH_MS = 900;
const BACKLOG_DELAY_MS = 1_000;
const BACKLOG_MS = 5_000;

register();

function register(): void {
  // Preloads run on Node's loader thread too, where nothing of the program runs.
  if (whereAmI() === 'loader') return;
  // A second copy of the preload (NODE_OPTIONS and the command line) must not record twice.
  if (activeRuntime() !== undefined) return;
  // A worker gets its variables apart from the environment that the program gave it.
  const env = { ...process.env, ...inheritedVariables() };
  const reportDirectory = env['REENACT_REPORT_DIR'];
  let config: Config;
  try {
    config = readConfig(env);
    if (whereAmI() === 'main')
      config = { ...config, processPath: claimProcessPath(config.processPath, env[CLAIMS_VARIABLE]) };
  } catch (error) {
    return refuse(error, reportDirectory);
  }
  if (config.mode === 'off' || (config.mode === 'record' && config.record === 'off')) return;
  if (config.mode === 'record') return startRecording(config);
  try {
    startReplaying(config, env);
  } catch (error) {
    refuse(error, reportDirectory);
  }
}

/** What is wrong with the settings ends the process before the program starts: an unknown mode is never success. */
function refuse(error: unknown, directory: string | undefined): void {
  const known = error instanceof ReenactError;
  const code = known ? error.code : 'INTERNAL';
  if (directory !== undefined) {
    // The command that started this process tells the person.
    const { writeFatal } = require('../replay/player/fatal-report') as typeof import('../replay/player/fatal-report');
    writeFatal({ code, message: (error as Error).message }, directory);
    process.exit(2);
  }
  process.stderr.write(`reenact: ${code} ${(error as Error).message}\n`);
  if (known) process.stderr.write(`${error.hint}\n`);
  process.exit(2);
}

function startRecording(config: Config): void {
  const diagnostics = new Diagnostics(config.debug);
  diagnostics.guard('start', () => {
    const redactor = createRedactor({ config });
    const unseen = <T>(fn: () => T): T => composed.recorder.scopes.unseen(fn);
    const sink = createSink(config, { diagnostics, untracked: unseen });
    const composed = composeRecorder({
      config,
      diagnostics,
      gate: liveGate,
      preloadPath: __filename,
      sink,
      redact: redactor.record,
      redactArgv: redactor.argv,
      // What an exporter of the program sends comes of its own asynchronous work.
      hostSpans: hostSpans((fn) => composed.recorder.scopes.untracked(fn)),
    });
    endWithProcess(composed, sink);
    sendBacklog(config, unseen);
  });
}

/** Nothing is lost at a natural end (sent if it can be within a second), and the file is complete at any `exit`. */
function endWithProcess({ recorder, output }: Composed, sink: RecordSink): void {
  let flushed = false;
  const close = (exitCode: number): void => recorder.close({ exitCode, ...output.digests() });
  process.on('beforeExit', (code) => {
    if (flushed || recorder.callCount === 0) return;
    flushed = true;
    close(code);
    const keepAlive = originals.setTimeout(() => undefined, EXIT_FLUSH_MS);
    void sink.flush(EXIT_FLUSH_MS).finally(() => originals.clearTimeout(keepAlive));
  });
  process.on('exit', (code) => {
    close(code);
    const summary = recorder.options.diagnostics.summary();
    if (summary !== undefined) process.stderr.write(`${summary}\n`);
  });
}

/** What an earlier process could not send is sent in the background, once this one has settled. */
function sendBacklog(config: Config, unseen: <T>(fn: () => T) => T): void {
  if (config.otlp.url === undefined || !config.spool) return;
  const later = originals.setTimeout(() => {
    const { sendWaiting } = require('../exporter/send-spool') as typeof import('../exporter/send-spool');
    const { dateNow: now, setTimeout, clearTimeout } = originals;
    const options = { background: true, untracked: unseen, now, timers: { setTimeout, clearTimeout } };
    void sendWaiting(config, BACKLOG_MS, options).catch(() => {
      // It stays in the files, and the next process or `reenact record` tries again.
    });
  }, BACKLOG_DELAY_MS);
  later.unref();
}

function startReplaying(config: Config, env: Readonly<Record<string, string | undefined>>): void {
  // Loaded only here: a recorded process never pays for the replay.
  const { startReplay, endReplay } = require('../replay/register') as typeof import('../replay/register');
  const { readReplayInput } =
    require('../replay/player/replay-input') as typeof import('../replay/player/replay-input');
  const { writeReport } = require('../replay/player/fatal-report') as typeof import('../replay/player/fatal-report');
  const directory = env['REENACT_REPORT_DIR'];
  const preloaded = env['REENACT_REPLAY_FILE'] === undefined ? prepareAlone(config) : undefined;
  const diagnostics = new Diagnostics(config.debug);
  const redactor = createRedactor({ config });
  const sink = createSink({ ...config, otlp: { ...config.otlp, url: undefined } }, { diagnostics });
  const replay = startReplay({
    config,
    input: preloaded?.input ?? readReplayInput(env),
    diagnostics,
    preloadPath: __filename,
    sink,
    redact: redactor.record,
    redactArgv: redactor.argv,
    redactRequest: redactor.request,
    redactJson: redactor.json,
  });
  endReplay(replay, (report, exitCode) => {
    if (preloaded !== undefined) return preloaded.end(report, exitCode);
    if (directory !== undefined) writeReport(report, directory);
    return exitCode;
  });
}

/** No command stands around this process: the preload does its part. */
function prepareAlone(config: Config): PreloadedReplay {
  const { prepareReplay } = require('../replay/drivers/preloaded') as typeof import('../replay/drivers/preloaded');
  return prepareReplay(config);
}
