import type net from 'node:net';
import { duplexPair } from 'node:stream';
import type { Duplex } from 'node:stream';
import tls from 'node:tls';
import { originals } from '../../instrumentation/originals';
import { INBOUND, RESENT } from '../../instrumentation/schema/inbound';
import type { InboundAnswer, InboundArgs } from '../../instrumentation/schema/inbound';
import { decodeTyped } from '../../instrumentation/schema/typed-json';
import type { ObservationRecord } from '../../instrumentation/schema/records';
import type { ReplayClock } from '../clock/replay-clock';
import type { FunctionCallRecord } from './recorded-calls';
import type { RecordedStatements } from './recorded-statements';
import type { Scheduler } from './scheduler';
import type { ReplayState } from './session-state';

/** By which services are told to end, the likeliest first. */
const SIGNALS = ['SIGTERM', 'SIGINT'] as const;
/** Real time for a server to end after that. */
const PATIENCE_MS = 2_000;

/** An inbound request stands in a recording as an observation of the world outside. */
export function isInbound(record: FunctionCallRecord): record is ObservationRecord {
  return record.kind === 'observation' && record.key.startsWith(INBOUND);
}

export interface InboundPlayerParts {
  readonly recorded: readonly ObservationRecord[];
  readonly scheduler: Scheduler;
  readonly state: ReplayState;
  readonly clock: ReplayClock;
  readonly statements: RecordedStatements;
  /** Of the process: a request comes before it is known whose conversation it is. */
  readonly defaultSessionId: string;
  /** Of the recorded process; undefined when it was killed. */
  readonly exitCode: number | undefined;
}

/** Sends the recorded requests to the program's server again, at their places in the recorded order. */
export class InboundPlayer {
  private readonly parts: InboundPlayerParts;
  private readonly waiting: Set<ObservationRecord>;

  constructor(parts: InboundPlayerParts) {
    this.parts = parts;
    this.waiting = new Set(parts.recorded);
  }

  /** Ports of the recorded servers, in the order in which they were first asked. */
  get ports(): number[] {
    const ports = this.parts.recorded.map((record) => argsOf(record)?.port);
    return [...new Set(ports.filter((port) => port !== undefined))];
  }

  listening(server: net.Server, port: number): void {
    if (server.listenerCount('request') === 0) return;
    const all = [...this.waiting];
    const own = all.filter((record) => argsOf(record)?.port === port);
    // A server whose port differs from the recorded one (another environment) is asked what no other is.
    for (const record of own.length > 0 ? own : all) this.schedule(record, server);
    if (this.waiting.size === 0) void this.parts.scheduler.drain().then(() => this.end());
  }

  /** The program has answered. */
  answered(spanId: string, answer: InboundAnswer): void {
    const record = this.parts.recorded.find((candidate) => candidate.spanId === spanId);
    if (record === undefined) return;
    this.parts.clock.passed(record.sessionId, record.seqEnd);
    // What the client broke off has no end to compare.
    if (record.outcome === 'ok' || record.outcome === 'error')
      this.parts.statements.answered(record.key, { recorded: decodeTyped(record.value), answer });
  }

  /**
   * Nothing recorded is left, and a server would wait for ever. It is told to end as services are; when it does not by
   * itself, or has no way to be told, the process ends.
   */
  private end(): void {
    const { exitCode } = this.parts;
    const exit = (): void => process.exit(exitCode ?? 0);
    const signal = SIGNALS.find((name) => process.listenerCount(name) > 0);
    if (exitCode === undefined || signal === undefined) return exit();
    originals.setTimeout(exit, PATIENCE_MS).unref();
    process.emit(signal, signal);
  }

  private schedule(record: ObservationRecord, server: net.Server): void {
    this.waiting.delete(record);
    this.parts.scheduler.add({
      seq: record.seqStart,
      ms: record.startMs,
      sessionId: this.parts.defaultSessionId,
      run: () => this.send(record, server),
    });
  }

  private send(record: ObservationRecord, server: net.Server): void {
    const args = argsOf(record);
    if (args === undefined) return;
    this.parts.state.used.set(record.spanId, 'exact');
    const [client, side] = duplexPair();
    asSocket(side, { args, spanId: record.spanId });
    server.emit(server instanceof tls.Server ? 'secureConnection' : 'connection', side);
    client.on('error', () => {
      // The program broke the connection off; what it answered is compared all the same.
    });
    client.resume();
    client.write(requestBytes(args));
    if (record.outcome !== 'aborted') return;
    this.parts.scheduler.add({
      seq: record.seqEnd,
      ms: record.endMs,
      sessionId: record.sessionId,
      run: () => void client.destroy(),
    });
  }
}

/** The recorded arguments; undefined in a forged recording. */
function argsOf(record: ObservationRecord): InboundArgs | undefined {
  const args = decodeTyped(record.args) as Partial<InboundArgs> | null;
  const isText = (value: unknown): boolean => typeof value === 'string' && !/[\r\n]/.test(value);
  const isPair = (pair: unknown): boolean => Array.isArray(pair) && pair.length === 2 && pair.every(isText);
  const ok =
    typeof args === 'object' &&
    args !== null &&
    isText(args.method) &&
    isText(args.url) &&
    Array.isArray(args.headers) &&
    args.headers.every(isPair) &&
    (typeof args.body === 'string' || ArrayBuffer.isView(args.body));
  return ok ? (args as InboundArgs) : undefined;
}

function requestBytes({ method, url, headers, body }: InboundArgs): Buffer {
  const bytes = typeof body === 'string' ? Buffer.from(body) : Buffer.from(body);
  const framing = /^(?:content-length|transfer-encoding|expect)$/i;
  const hadBody = headers.some(([name]) => framing.test(name));
  const lines = headers.filter(([name]) => !framing.test(name)).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = hadBody || bytes.length > 0 ? `content-length: ${bytes.length}\r\n` : '';
  return Buffer.concat([Buffer.from(`${method} ${url} HTTP/1.1\r\n${lines.join('')}${length}\r\n`, 'latin1'), bytes]);
}

/** Gives a stream what servers ask of the socket of a request. */
function asSocket(stream: Duplex, { args, spanId }: { args: InboundArgs; spanId: string }): void {
  const self = (): Duplex => stream;
  const remoteAddress = args.from ?? '127.0.0.1';
  const fields = {
    [RESENT]: spanId,
    remoteAddress,
    remoteFamily: remoteAddress.includes(':') ? 'IPv6' : 'IPv4',
    remotePort: 50_000,
    localPort: args.port,
    setTimeout: self,
    setNoDelay: self,
    setKeepAlive: self,
    ref: self,
    unref: self,
  };
  for (const [name, value] of [...Object.entries(fields), [RESENT, spanId] as const])
    Object.defineProperty(stream, name, { value, configurable: true, writable: true, enumerable: false });
}
