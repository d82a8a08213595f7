import net from 'node:net';
import { originals } from '../../instrumentation/originals';
import { patch } from '../../instrumentation/patches';

/** Node's longest delay: the timer is there to keep the process alive, as a listening socket does. */
const FOR_EVER_MS = 2_147_483_647;

/** Where ports begin that are given for port 0 when the recording names none. */
const FIRST_PORT = 40_000;

export interface VirtualListeningOptions {
  /** Ports that servers had in the recording, for servers that ask for any. */
  readonly ports: readonly number[];
  readonly onListening: (server: net.Server, port: number) => void;
}

interface Target {
  readonly port: number;
  readonly address: string;
  readonly callback: (() => void) | undefined;
}

/** What a server holds while it listens, in the form that lib/net.js asks of its own handle. */
class VirtualHandle {
  readonly address: string;
  readonly port: number;
  private readonly alive = originals.setInterval(() => undefined, FOR_EVER_MS);

  constructor(target: Omit<Target, 'callback'>) {
    this.address = target.address;
    this.port = target.port;
  }

  getsockname(out: Record<string, unknown>): 0 {
    const { address, port } = this;
    Object.assign(out, { address, port, family: net.isIPv6(address) ? 'IPv6' : 'IPv4' });
    return 0;
  }

  ref(): void {
    this.alive.ref();
  }

  unref(): void {
    this.alive.unref();
  }

  hasRef(): boolean {
    return this.alive.hasRef();
  }

  close(): void {
    originals.clearInterval(this.alive);
  }
}

/**
 * Lets the servers of a replayed program listen to nothing.
 *
 * What: `listen` of net.Server, for TCP; pipes stay real, they belong to loaders and debuggers. Why here: every server
 * of Node comes to it. What breaks when it goes wrong: a replay takes the port of the running service, or its server
 * never says that it listens.
 */
export function installVirtualListening(options: VirtualListeningOptions): void {
  const ports = [...options.ports];
  let next = FIRST_PORT;
  patch(
    net.Server.prototype as { listen: (...args: unknown[]) => unknown },
    'listen',
    (original) =>
      function listen(this: net.Server, ...args: unknown[]) {
        const target = this.listening ? undefined : targetOf(args);
        // What Node refuses, it refuses itself.
        if (target === undefined) return original.apply(this, args);
        const port = target.port === 0 ? (ports.shift() ?? next++) : target.port;
        const handle = new VirtualHandle({ ...target, port });
        const server = this as unknown as { _handle: unknown };
        server._handle = handle;
        if (target.callback !== undefined) this.once('listening', target.callback);
        process.nextTick(() => {
          if (server._handle !== handle) return;
          this.emit('listening');
          options.onListening(this, port);
        });
        return this;
      },
  );
}

/** Port and address that a call of `listen` names; undefined when it names something else, or nothing that is valid. */
function targetOf(args: readonly unknown[]): Target | undefined {
  const last = args.at(-1);
  const callback = typeof last === 'function' ? (last as () => void) : undefined;
  const [first, second] = args;
  const fields = typeof first === 'object' && first !== null ? (first as Record<string, unknown>) : undefined;
  if (fields !== undefined && !('port' in fields)) return undefined;
  const port = portOf(fields === undefined ? first : fields['port']);
  const host = fields === undefined ? second : fields['host'];
  return port === undefined ? undefined : { port, address: typeof host === 'string' ? host : '::', callback };
}

function portOf(value: unknown): number | undefined {
  if (value === undefined || value === null || typeof value === 'function') return 0;
  if (typeof value !== 'number' && (typeof value !== 'string' || !/^\s*\d+\s*$/.test(value))) return undefined;
  const port = Number(value);
  return Number.isInteger(port) && port >= 0 && port <= 65_535 ? port : undefined;
}
