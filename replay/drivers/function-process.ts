import { syncBuiltinESMExports } from 'node:module';
import { runInThisContext } from 'node:vm';
import type { Redactor } from '../../exporter/redact';
import { installClock } from '../../instrumentation/ambient/clock';
import { installCrypto } from '../../instrumentation/ambient/crypto';
import { installRandom } from '../../instrumentation/ambient/random';
import { scopedRandom } from '../../instrumentation/ambient/recording-sources';
import { callDescriber } from '../../instrumentation/compose-recorder';
import type { Config } from '../../instrumentation/config';
import { makeScope } from '../../instrumentation/context';
import type { Scope } from '../../instrumentation/context';
import { Diagnostics } from '../../instrumentation/diagnostics';
import { createFilter } from '../../instrumentation/exclusions';
import { IdSource } from '../../instrumentation/ids';
import { originals } from '../../instrumentation/originals';
import { patchCount, undoPatches } from '../../instrumentation/patches';
import { processFacts, realNow } from '../../instrumentation/process-facts';
import { capturesContent } from '../../instrumentation/providers/describe';
import { Recorder } from '../../instrumentation/recorder';
import { activeRuntime, setActiveRuntime } from '../../instrumentation/runtime';
import type { Runtime } from '../../instrumentation/runtime';
import type { ExecutionLog } from '../../instrumentation/schema/execution-log';
import type { Recording } from '../../instrumentation/schema/records';
import { installTaps } from '../../instrumentation/taps/registry';
import type { DeclaredStatus } from '../../instrumentation/tools/config-declared';
import { tapUndiciCopy } from '../../instrumentation/taps/undici';
import { installVirtualTimers } from '../clock/install-timers';
import { replayDraws } from '../clock/replay-draws';
import { OwnDispatchers, separateAgentSockets } from '../network/own-connections';
import { assemblePlayer, blockedBy } from '../player/assemble-player';
import type { Player } from '../player/assemble-player';
import { contextResources } from '../player/context-resources';
import { recordingOfProcess } from '../player/process-recording';
import type { ProcessRecording } from '../player/process-recording';
import { Quiescence } from '../player/quiescence';
import type { ProcessReport, ReplayOptions } from '../player/report';
import { installChildSandbox } from '../sandbox/child-processes';
import { alwaysWritable, installWriteSandbox } from '../sandbox/file-writes';
import { installUdpSandbox } from '../sandbox/udp';
import { installWorkerSandbox } from '../sandbox/worker-threads';
import { functionHooks, loadedUndici } from './function-hooks';
import { sessionAt } from './function-place';
import type { FunctionPlace } from './function-place';
import { FunctionRuntime } from './function-runtime';
import { isolatedClock, isolatedDraws } from './isolated-sources';
import { MemorySink } from './memory-sink';
import { placeholderEnv } from './placeholder-env';
import { newRunId } from './run-id';

export interface FunctionProcessParts {
  readonly config: Config;
  readonly redactor: Redactor;
  /** Of the one process that is replayed. */
  readonly recording: Recording;
  readonly logs: readonly ExecutionLog[];
  readonly place: FunctionPlace;
  readonly options: ReplayOptions;
  /** The runtime that records this process, if one does. */
  readonly outer: Runtime | undefined;
}

/**
 * The replayed process as one function of a real one sees it. What it replaces in the process looks at the asynchronous
 * context first and changes nothing for code outside of the function; all of it is put back at the end.
 */
export class FunctionProcess {
  readonly runId = newRunId();
  private readonly parts: FunctionProcessParts;
  private readonly own: ProcessRecording;
  private readonly diagnostics: Diagnostics;
  private readonly recorder: Recorder;
  private readonly sink = new MemorySink();
  private readonly scope: Scope;
  private player: Player | undefined;
  private undo: (() => void)[] = [];

  constructor(parts: FunctionProcessParts) {
    this.parts = parts;
    const { config, redactor, place } = parts;
    this.diagnostics = new Diagnostics(config.debug);
    this.own = recordingOfProcess(parts.recording, place.processPath);
    const ids = new IdSource();
    const startMs = this.own.startMs;
    this.recorder = new Recorder({
      runId: this.runId,
      processPath: place.processPath,
      defaultSessionId: place.scope === '' ? place.sessionId : (this.own.process?.defaultSessionId ?? this.runId),
      clock: { now: () => this.player?.clock.now() ?? realNow() },
      ids,
      sink: this.sink,
      diagnostics: this.diagnostics,
      facts: { ...processFacts(config, this.own.process?.seed), startMs },
      filter: createFilter(config.file, config.otlp.url),
      redact: redactor.record,
      describe: callDescriber(capturesContent(process.env)),
      correlator: {
        started: (exchange) => this.played.exchanges.started(exchange),
        ended: (id) => this.played.exchanges.ended(id),
      },
      isolated: true,
    });
    const [log] = parts.logs;
    const session = place.scope === '' ? this.recorder.root : sessionAt(place, { ...(log && { log }), ids, startMs });
    const { spanId, traceId } = session;
    this.scope = makeScope({
      path: place.scope,
      session,
      spanId,
      traceId,
      ...(session.agentId !== undefined && { agentId: session.agentId }),
    });
  }

  private get played(): Player {
    if (this.player === undefined) throw new Error('the replay has not begun');
    return this.player;
  }

  private readonly applies = (): boolean => !this.recorder.scopes.isUntracked();

  /** @throws ReenactError SET_INVALID, TURN_NOT_FOUND */
  install(): void {
    const patches = patchCount();
    this.undo.push(() => {
      undoPatches(patches);
      syncBuiltinESMExports();
    });
    this.fillEnvironment();
    this.installPlayer();
    this.installAmbient();
    this.installConnections();
    this.installSandbox();
    this.installRuntime();
    syncBuiltinESMExports();
  }

  /** Runs the function inside; a recorder of the process does not see it. */
  run<T>(fn: () => T): T {
    const { scopes } = this.recorder;
    const inside = (): T => scopes.run(this.scope, fn);
    const { outer } = this.parts;
    return outer === undefined ? inside() : outer.recorder.scopes.untracked(inside);
  }

  drain(): Promise<void> {
    return this.played.scheduler.drain();
  }

  /** Puts the process back as it was. */
  end(): void {
    this.diagnostics.guard('end of a replay', () => {
      this.recorder.endSession(this.scope.session);
      this.recorder.close({ exitCode: 0 });
      for (const session of this.recorded().sessions)
        if (session.phase === 'end') this.played.statements.sessionEnded(session);
    });
    for (const undo of this.undo.splice(0).reverse()) this.diagnostics.guard('end of a replay', undo);
  }

  report(): ProcessReport {
    const { place, logs } = this.parts;
    return {
      processPath: place.processPath,
      runId: this.runId,
      sessionIds: logs.map((log) => log.sessionId),
      ...this.played.state.report(),
      statements: this.played.statements.differences(),
      stdout: null,
    };
  }

  get declaredStatus(): readonly DeclaredStatus[] {
    return functionHooks(this.parts.config, this.diagnostics).declaredStatus();
  }

  recorded(): Recording {
    return this.sink.recording(this.runId);
  }

  private installPlayer(): void {
    const { logs, options, redactor } = this.parts;
    const resources = contextResources(this.applies);
    this.undo.push(resources.end);
    this.player = assemblePlayer({
      own: this.own,
      logs,
      options,
      redactRequest: redactor.request,
      redactJson: redactor.json,
      quiescence: (probe, turns) => new Quiescence(probe, turns, resources.busy),
      applies: this.applies,
    });
    const { network } = this.player;
    this.undo.push(() => network.uninstall());
  }

  private installAmbient(): void {
    const { scopes, internalReads } = this.recorder;
    const { clock, timers } = this.played;
    clock.scopes = scopes;
    clock.internalReads = internalReads;
    installClock(isolatedClock(clock, scopes));
    const seed = this.own.process?.seed;
    if (seed !== undefined) {
      const random = scopedRandom(this.recorder, seed);
      installRandom(() => (scopes.isUntracked() ? originals.random() : random()));
    }
    installCrypto(isolatedDraws(replayDraws(this.own.ambient, scopes, seed ?? ''), scopes));
    installVirtualTimers(timers, scopes);
  }

  private installConnections(): void {
    const onFailure = (place: string, error: unknown): void => this.diagnostics.failed(place, error);
    const dispatchers = new OwnDispatchers(this.applies);
    const options = { stacked: true, redirect: dispatchers.redirect };
    this.undo.push(() => dispatchers.close());
    // A program may hold a `fetch` from before: undici must have been loaded to be tapped.
    void (runInThisContext('globalThis') as typeof globalThis).Headers;
    this.undo.push(installTaps(this.recorder, onFailure, options));
    separateAgentSockets(this.runId, this.applies);
    const context = { observer: this.recorder, onFailure, ...options };
    const tap = (exports: unknown): void => void this.undo.push(tapUndiciCopy(exports, context));
    for (const exports of loadedUndici()) tap(exports);
    const hooks = functionHooks(this.parts.config, this.diagnostics);
    hooks.tap = tap;
    this.undo.push(() => (hooks.tap = undefined));
  }

  private installSandbox(): void {
    const { state } = this.played;
    const { applies } = this;
    const blocked = (what: string, hint: string): void => state.blocked({ ...blockedBy(what), hint });
    installChildSandbox({
      blocked: (what) => blocked(what, 'A function that starts processes is replayed as a { command }.'),
      allowsNext: () => !applies(),
      skipped: () => undefined,
    });
    installWorkerSandbox({ blocked, applies });
    installUdpSandbox({ blocked, applies });
    installWriteSandbox({ blocked, applies, allowed: alwaysWritable(this.parts.config.store) });
  }

  private installRuntime(): void {
    const before = activeRuntime();
    const { outer } = this.parts;
    setActiveRuntime(new FunctionRuntime(this.recorder, this.played.gate, { outer, scope: this.scope }));
    this.undo.push(() => setActiveRuntime(before));
  }

  /** For the whole process, since the environment has no context: only what is missing, and only for this long. */
  private fillEnvironment(): void {
    const missing = placeholderEnv(
      this.parts.recording.processes.map((record) => ({ ...record, processPath: '0' })),
      process.env,
    );
    Object.assign(process.env, missing);
    this.undo.push(() => {
      for (const [name, value] of Object.entries(missing))
        if (process.env[name] === value) Reflect.deleteProperty(process.env, name);
    });
  }
}
