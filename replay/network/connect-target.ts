import { isIP, type TcpSocketConnectOpts } from 'node:net';
import type { ConnectionOptions } from 'node:tls';

/** Where a client wants to connect to. */
export interface ConnectTarget {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** Unix socket or named pipe. */
  readonly path?: string;
}

export type ConnectOptions = Partial<TcpSocketConnectOpts> &
  ConnectionOptions & { path?: string; ALPNProtocols?: unknown };

export interface ConnectArguments {
  readonly options: ConnectOptions;
  readonly listener: (() => void) | undefined;
}

/** Reads the arguments of `net.connect` and `Socket#connect`, also when Node has put them into one array already. */
export function readConnectArguments(given: readonly unknown[]): ConnectArguments {
  const args = Array.isArray(given[0]) ? (given[0] as unknown[]) : given;
  const last = args.findLast((arg) => typeof arg === 'function') as (() => void) | undefined;
  const [first, second] = args;
  if (typeof first === 'object' && first !== null) return { options: first as ConnectOptions, listener: last };
  if (isPath(first)) return { options: { path: first }, listener: last };
  const options: ConnectOptions = { port: first as number };
  if (typeof second === 'string') options.host = second;
  return { options, listener: last };
}

/** Reads the arguments of `tls.connect`: port, host and path may stand before the options. */
export function readTlsArguments(args: readonly unknown[]): ConnectArguments {
  const { options, listener } = readConnectArguments(args.filter((arg) => arg !== undefined && arg !== null));
  const extra = args.find((arg, at) => at > 0 && typeof arg === 'object' && arg !== null);
  return { options: { ...options, ...(extra as ConnectOptions | undefined) }, listener };
}

/** `undefined` when Node would refuse the options by throwing; then its own code shall throw. */
export function targetOf(options: ConnectOptions, tls: boolean): ConnectTarget | undefined {
  if (typeof options.path === 'string' && options.path !== '') return { host: '', port: 0, tls, path: options.path };
  const port = Number(options.port);
  const usable =
    (typeof options.port === 'number' || typeof options.port === 'string') && options.port !== ('' as never);
  if (!usable || !Number.isInteger(port) || port < 0 || port > 65_535) return undefined;
  const host = options.host ?? 'localhost';
  return typeof host === 'string' ? { host: unbracketed(host), port, tls } : undefined;
}

/** The origin of an HTTP request that arrives over a connection to this target. */
export function originOf(target: ConnectTarget, hostHeader: string | undefined): string {
  const scheme = target.tls ? 'https' : 'http';
  if (target.path !== undefined) return `${scheme}://${hostHeader ?? 'localhost'}`;
  const host = isIP(target.host) === 6 ? `[${target.host}]` : target.host;
  return target.port === (target.tls ? 443 : 80) ? `${scheme}://${host}` : `${scheme}://${host}:${target.port}`;
}

function isPath(value: unknown): value is string {
  return typeof value === 'string' && !(Number(value) >= 0);
}

function unbracketed(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}
