import dgram from 'node:dgram';
import { patch } from '../../instrumentation/patches';
import { refusal } from './refusal';
import type { SandboxReport } from './refusal';

/**
 * Refuses UDP.
 *
 * What: `bind`, `connect` and `send` of `dgram.Socket`. Why here: a socket may be made, only its traffic leaves the
 * process. What breaks when it goes wrong: metrics and DNS clients of the program reach the network.
 */
export function installUdpSandbox(report: SandboxReport): void {
  const prototype = dgram.Socket.prototype as unknown as Record<
    string,
    (this: dgram.Socket, ...args: unknown[]) => unknown
  >;
  for (const name of ['bind', 'connect', 'send'])
    patch(
      prototype,
      name,
      (original) =>
        function (this: dgram.Socket, ...args: unknown[]) {
          if (report.applies?.() === false) return original?.apply(this, args);
          const error = refusal(name, `udp ${name}`);
          report.blocked(`UDP ${name}`, 'A replay makes no live call of any kind.');
          const callback = args.at(-1);
          if (name === 'send' && typeof callback === 'function')
            process.nextTick(callback as (error: Error) => void, error);
          else process.nextTick(() => this.emit('error', error));
          return this;
        },
    );
}
