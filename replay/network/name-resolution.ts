import dns from 'node:dns';
import { isIP } from 'node:net';
import { promisify } from 'node:util';
import { ReenactError } from '../../instrumentation/schema/errors';
import type { AnyFunction } from './patches';

/** Every name stands for this address in a replay; it is reserved for documentation (RFC 5737), so it is nobody's. */
const ADDRESS = '203.0.113.1';
const ADDRESS_6 = '2001:db8::1';
const LOOPBACK = '127.0.0.1';

const QUERIES = [
  'resolve',
  'resolve4',
  'resolve6',
  'resolveAny',
  'resolveCaa',
  'resolveCname',
  'resolveMx',
  'resolveNaptr',
  'resolveNs',
  'resolvePtr',
  'resolveSoa',
  'resolveSrv',
  'resolveTlsa',
  'resolveTxt',
  'reverse',
  'lookupService',
] as const;

export interface NameResolutionOptions {
  /** Whether the running code is our own, which uses the real network. */
  isReal(): boolean;
  onBlocked(what: string): void;
  replace(owner: object, name: string, make: (original: AnyFunction) => AnyFunction): void;
  turn(step: () => void): void;
}

export interface Address {
  readonly address: string;
  readonly family: 4 | 6;
}

/** The address that a name stands for in a replay. */
export function addressOf(host: string, family?: number): Address {
  const given = isIP(host);
  if (given !== 0) return { address: host, family: given as 4 | 6 };
  const isLocal = host === '' || host === 'localhost' || host.endsWith('.localhost');
  if (family === 6) return { address: isLocal ? '::1' : ADDRESS_6, family: 6 };
  return { address: isLocal ? LOOPBACK : ADDRESS, family: 4 };
}

/**
 * Replaced: `dns.lookup` (answers a fixed address), all other queries (refused), callback and promise forms, on the
 * module and on resolvers. Here, because libuv and c-ares open sockets that no patch of `net` sees. If it goes wrong,
 * a replay asks a real name server.
 */
export function patchNameResolution(options: NameResolutionOptions): void {
  options.replace(dns, 'lookup', (original) => callbackLookup(options, original));
  options.replace(dns.promises, 'lookup', (original) => promiseLookup(options, original));
  for (const name of QUERIES) {
    for (const owner of [dns, dns.Resolver.prototype]) {
      options.replace(owner, name, (original) => refusing(options, original, `dns.${name}`));
    }
    for (const owner of [dns.promises, dns.promises.Resolver.prototype]) {
      options.replace(owner, name, (original) => rejecting(options, original, `dns.promises.${name}`));
    }
  }
}

interface LookupOptions {
  readonly family?: number | 'IPv4' | 'IPv6' | undefined;
  readonly all?: boolean | undefined;
}

function answer(host: string, given: unknown): Address | Address[] {
  const options: LookupOptions =
    typeof given === 'object' && given !== null ? given : { family: given as number | undefined };
  const family = options.family === 'IPv6' ? 6 : options.family === 'IPv4' ? 4 : options.family;
  const address = addressOf(host, family);
  return options.all === true ? [address] : address;
}

function callbackLookup(options: NameResolutionOptions, original: AnyFunction): AnyFunction {
  function lookup(this: unknown, ...args: unknown[]): unknown {
    const done = args.at(-1);

    // Wrong arguments throw in Node; let them.
    if (options.isReal() || typeof done !== 'function' || !isName(args[0])) return original.apply(this, args);
    const found = answer(args[0] ?? '', args.length > 2 ? args[1] : undefined);
    options.turn(() => {
      if (Array.isArray(found)) done(null, found);
      else done(null, found.address, found.family);
    });
    return {};
  }

  // Node's own carries an internal symbol by which `util.promisify` knows that the answer has two parts.
  const promised = promiseLookup(options, promisify(original) as AnyFunction);
  Object.defineProperty(lookup, promisify.custom, { value: promised });
  return lookup;
}

function promiseLookup(options: NameResolutionOptions, original: AnyFunction): AnyFunction {
  return async function lookup(this: unknown, host: unknown, given?: unknown): Promise<unknown> {
    if (options.isReal() || !isName(host)) return original.call(this, host, given) as unknown;
    return answer(host ?? '', given);
  };
}

function refusing(options: NameResolutionOptions, original: AnyFunction, what: string): AnyFunction {
  return function refused(this: unknown, ...args: unknown[]): unknown {
    const done = args.at(-1);
    if (options.isReal() || typeof done !== 'function') return original.apply(this, args);
    const error = refusal(options, what, args[0]);
    options.turn(() => done(error));
    return {};
  };
}

function rejecting(options: NameResolutionOptions, original: AnyFunction, what: string): AnyFunction {
  return async function refused(this: unknown, ...args: unknown[]): Promise<unknown> {
    if (options.isReal()) return original.apply(this, args) as unknown;
    throw refusal(options, what, args[0]);
  };
}

function refusal(options: NameResolutionOptions, what: string, name: unknown): ReenactError {
  options.onBlocked(`${what} ${String(name)}`);
  return new ReenactError('REPLAY_BLOCKED', `${what} ${String(name)}: a replay asks no name server.`);
}

function isName(value: unknown): value is string | undefined | null {
  return typeof value === 'string' || value === undefined || value === null;
}
