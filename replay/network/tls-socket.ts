import { Socket, type SocketConstructorOpts } from 'node:net';
import { TLSSocket, type ConnectionOptions } from 'node:tls';
import type { ConnectOptions } from './connect-target';

const YEAR_MS = 365 * 24 * 3_600_000;
const CIPHER = { name: 'TLS_AES_256_GCM_SHA384', standardName: 'TLS_AES_256_GCM_SHA384', version: 'TLSv1.3' };

/** What Node's own `TLSSocket` asks its native handle, which a virtual one has not. */
const TLS_ANSWERS: Readonly<Record<string, (this: Socket & TlsClaims) => unknown>> = {
  getProtocol: () => 'TLSv1.3',
  getCipher: () => ({ ...CIPHER }),
  getPeerCertificate() {
    return certificateFor(this.servername || this.host);
  },
  getCertificate: () => ({}),
  getPeerX509Certificate: () => undefined,
  getX509Certificate: () => undefined,
  getEphemeralKeyInfo: () => ({ type: 'ECDH', name: 'X25519', size: 253 }),
  getFinished: () => undefined,
  getPeerFinished: () => undefined,
  getSession: () => undefined,
  getTLSTicket: () => undefined,
  getSharedSigalgs: () => [],
  isSessionReused: () => false,
  exportKeyingMaterial: () => Buffer.alloc(0),
  setMaxSendFragment: () => true,
  renegotiate: () => false,
  disableRenegotiation: () => undefined,
  enableTrace: () => undefined,
  setServername: () => undefined,
  setSession: () => undefined,
  setKeyCert: () => undefined,
};

interface TlsClaims {
  encrypted: true;
  authorized: boolean;
  authorizationError: null;
  secureConnecting: boolean;
  alpnProtocol: string | false;
  servername: string;
  host: string;
}

export type VirtualTlsSocket = Socket & TlsClaims;

/**
 * The prototype of TLS sockets in a replay: `instanceof tls.TLSSocket`, but constructed as a plain `net.Socket`.
 * There is no wire to encrypt for, and with no handshake a replay needs neither certificates nor entropy.
 */
export function createTlsSocketClass(): new (options: SocketConstructorOpts) => VirtualTlsSocket {
  function VirtualTls(this: unknown, options: SocketConstructorOpts): VirtualTlsSocket {
    return Reflect.construct(Socket, [options], VirtualTls) as VirtualTlsSocket;
  }
  const answers = Object.entries(TLS_ANSWERS).map(([name, value]) => [
    name,
    { value, writable: true, configurable: true },
  ]);
  VirtualTls.prototype = Object.create(TLSSocket.prototype, Object.fromEntries(answers) as PropertyDescriptorMap);
  Object.defineProperty(VirtualTls.prototype, 'constructor', { value: TLSSocket, writable: true, configurable: true });
  return VirtualTls as unknown as new (options: SocketConstructorOpts) => VirtualTlsSocket;
}

/** Sets what a client may read from a TLS socket before the handshake is done. */
export function claimTls(socket: VirtualTlsSocket, options: ConnectOptions): void {
  const host = options.host ?? 'localhost';
  Object.assign(socket, {
    encrypted: true,
    authorized: false,
    authorizationError: null,
    secureConnecting: true,
    alpnProtocol: null,
    servername: options.servername ?? host,
    host,
    ssl: null,
  });
}

/** The handshake is done. `false`: the client speaks none of our protocols. */
export function finishHandshake(socket: VirtualTlsSocket, options: ConnectionOptions): void {
  socket.secureConnecting = false;
  socket.authorized = true;
  socket.alpnProtocol = offeredProtocols(options).includes('http/1.1') ? 'http/1.1' : false;
  socket.emit('secure');
  socket.emit('secureConnect');
}

/** HTTP/2 alone is asked for: nothing here can answer it yet, and a server without it would break off as well. */
export function wantsOnlyHttp2(options: ConnectionOptions): boolean {
  const offered = offeredProtocols(options);
  return offered.includes('h2') && !offered.includes('http/1.1');
}

/** Protocols by name, also from the wire format that Node accepts (each name behind its length). */
function offeredProtocols({ ALPNProtocols: given }: ConnectionOptions): string[] {
  if (Array.isArray(given)) return given.map((name) => Buffer.from(name as Uint8Array).toString('latin1'));
  if (!ArrayBuffer.isView(given)) return [];
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.byteLength);
  const names: string[] = [];
  for (let at = 0; at < bytes.length; at += 1 + (bytes[at] as number)) {
    names.push(bytes.toString('latin1', at + 1, at + 1 + (bytes[at] as number)));
  }
  return names;
}

function certificateFor(host: string): Record<string, unknown> {
  const now = Date.now();
  return {
    subject: { CN: host },
    issuer: { CN: 'Reenact replay' },
    subjectaltname: `DNS:${host}`,
    ca: false,
    valid_from: new Date(now - YEAR_MS).toUTCString(),
    valid_to: new Date(now + YEAR_MS).toUTCString(),
    fingerprint: Array.from({ length: 20 }, () => '00').join(':'),
    fingerprint256: Array.from({ length: 32 }, () => '00').join(':'),
    fingerprint512: Array.from({ length: 64 }, () => '00').join(':'),
    serialNumber: '01',
    raw: Buffer.alloc(0),
  };
}
