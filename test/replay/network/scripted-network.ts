import {
  installVirtualNetwork,
  type ConnectTarget,
  type ConnectVerdict,
  type IncomingCall,
  type VirtualNetwork,
  type VirtualNetworkOptions,
} from '../../../replay/network/virtual-network';

export interface ScriptedNetwork extends VirtualNetwork {
  readonly calls: IncomingCall[];
  readonly targets: ConnectTarget[];
  readonly blocked: string[];
}

export type Script = (call: IncomingCall, index: number) => void;

/** A virtual network whose calls are answered by a function. */
export function scriptedNetwork(
  script: Script,
  options: Partial<VirtualNetworkOptions> & {
    verdict?: (target: ConnectTarget) => ConnectVerdict | Promise<ConnectVerdict>;
  } = {},
): ScriptedNetwork {
  const calls: IncomingCall[] = [];
  const targets: ConnectTarget[] = [];
  const blocked: string[] = [];
  const network = installVirtualNetwork({
    correlationHeader: 'x-reenact-call',
    onCall: (call) => {
      calls.push(call);
      script(call, calls.length - 1);
    },
    onConnect: (target) => {
      targets.push(target);
      return options.verdict?.(target) ?? { accept: true };
    },
    onBlocked: (what) => void blocked.push(what),
    ...(options.timers === undefined ? {} : { timers: options.timers }),
  });
  return Object.assign(network, { calls, targets, blocked });
}

/** Answers with JSON, framed by its length. */
export function json(value: unknown, status = 200, headers: readonly (readonly [string, string])[] = []): Script {
  return ({ responder }) => {
    const body = Buffer.from(JSON.stringify(value));
    responder.head({
      status,
      statusText: status === 200 ? 'OK' : 'Some Reason',
      headers: [['Content-Type', 'application/json'], ['Content-Length', String(body.length)], ...headers],
    });
    responder.chunk(body);
    responder.end();
  };
}

/** Answers with chunks, each in a chunk of its own on the wire. */
export function chunked(chunks: readonly string[], contentType = 'text/event-stream'): Script {
  return ({ responder }) => {
    responder.head({
      status: 200,
      statusText: 'OK',
      headers: [
        ['content-type', contentType],
        ['Transfer-Encoding', 'chunked'],
      ],
    });
    for (const chunk of chunks) responder.chunk(Buffer.from(chunk));
    responder.end();
  };
}
