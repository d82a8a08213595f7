import { getSystemErrorMap } from 'node:util';
import type { ConnectTarget } from './connect-target';

/** A failure of the network, as a program would see it. */
export interface NetworkFault {
  readonly code: string;
  readonly syscall?: string;
  readonly message?: string;
  /** Of the error; `AggregateError`: all addresses of the name failed. */
  readonly name?: string;
  /** The stack below the message, as it was recorded. */
  readonly frames?: string;
}

/** Codes of getaddrinfo; of these only the first two have numbers in Node's own table. */
const RESOLVER_CODES: ReadonlySet<string> = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'EAI_NODATA', 'EAI_NONAME']);
const CONNECT_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'EADDRNOTAVAIL',
  'EACCES',
  'ENOENT',
]);
const ENOTFOUND_NUMBER = -3008;

/** Makes the error Node itself would raise for this fault: message, errno, code, syscall, address and port. */
export function networkError(
  fault: NetworkFault,
  target: ConnectTarget,
  address: string,
): NodeJS.ErrnoException & AggregateError {
  const parts = fault.message === undefined ? undefined : readMessage(fault.message);
  const error =
    fault.name === 'AggregateError'
      ? new AggregateError(ofEachAddress(fault, target), fault.message ?? '')
      : new Error(fault.message ?? describe(fault, target, address));
  const syscall = fault.syscall ?? parts?.syscall ?? syscallOf(fault.code);
  const details: Record<string, unknown> = { errno: errnoOf(fault.code), code: fault.code };
  if (fault.name === 'AggregateError') {
    delete details['errno'];
  } else if (details['errno'] !== undefined || syscall !== undefined) {
    if (syscall !== undefined) details['syscall'] = syscall;
    Object.assign(details, whereOf(syscall, target, parts?.where ?? address));
  }
  if (fault.name !== undefined && fault.name !== error.name) {
    Object.defineProperty(error, 'name', { ...property(fault.name), enumerable: false });
  }
  if (typeof fault.frames === 'string') {
    Object.defineProperty(error, 'stack', {
      ...property(`${error.name}: ${error.message}\n${fault.frames}`),
      enumerable: false,
    });
  }
  for (const [key, value] of Object.entries(details)) {
    if (value !== undefined) Object.defineProperty(error, key, property(value));
  }
  return error as NodeJS.ErrnoException & AggregateError;
}

function property(value: unknown): PropertyDescriptor {
  return { value, enumerable: true, writable: true, configurable: true };
}

/** `connect ECONNREFUSED 127.0.0.1:9` says by itself what failed and where. */
function readMessage(message: string): { syscall: string; where: string | undefined } | undefined {
  const match = /^(connect|getaddrinfo|read|write|shutdown) [A-Z][A-Z0-9_]+(?: (\S+))?/.exec(message);
  if (match === null) return undefined;
  return { syscall: match[1] as string, where: match[2]?.replace(/:\d+$/, '') };
}

function syscallOf(code: string): string | undefined {
  if (RESOLVER_CODES.has(code)) return 'getaddrinfo';
  if (CONNECT_CODES.has(code)) return 'connect';
  if (code === 'ETIMEDOUT' || code === 'ECONNRESET') return 'read';
  if (code === 'EPIPE') return 'write';
  return undefined;
}

function describe(fault: NetworkFault, target: ConnectTarget, address: string): string {
  const syscall = fault.syscall ?? syscallOf(fault.code);
  if (syscall === undefined) return fault.code;
  if (syscall === 'getaddrinfo') return `getaddrinfo ${fault.code} ${target.host}`;
  if (syscall !== 'connect') return `${syscall} ${fault.code}`;
  return target.path === undefined
    ? `connect ${fault.code} ${address}:${target.port}`
    : `connect ${fault.code} ${target.path}`;
}

function whereOf(syscall: string | undefined, target: ConnectTarget, address: string): Record<string, unknown> {
  if (syscall === 'getaddrinfo') return { hostname: target.host };
  if (syscall !== 'connect') return {};
  return target.path === undefined ? { address, port: target.port } : { address: target.path };
}

/** Only `localhost` has two addresses here, as on most machines. */
function ofEachAddress(fault: NetworkFault, target: ConnectTarget): Error[] {
  return ['::1', '127.0.0.1'].map((address) => networkError({ code: fault.code }, target, address));
}

function errnoOf(code: string): number | undefined {
  if (code === 'ENOTFOUND') return ENOTFOUND_NUMBER;
  for (const [number, [name]] of getSystemErrorMap()) {
    if (name === code) return number;
  }
  return undefined;
}
