import { createHmac, randomBytes } from 'node:crypto';
import { closeSync, constants, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { prepareStore } from './spool-file';
import { runsFolder } from './store-paths';

/** Captured when the package loads: a replay replaces these functions, and draws of ours are not the program's. */
const runtime = { createHmac, randomBytes, closeSync, openSync, readFileSync, writeSync };

/** Stands for a secret; the same secret has the same token within one store, and no token gives its secret back. */
export type Tokens = (secret: string) => string;

const KEY_BYTES = 32;
const PREFIX = 'redacted-';
const SHORTEST = 16;

/**
 * Tokens keyed by the random key of a store, made on first use; without a store (`undefined`, or one that cannot be
 * written) the key lives as long as the process. A token is as long as its secret, so that lengths of bodies hold.
 */
export function createTokens(store: string | undefined): Tokens {
  let key: Buffer | undefined;
  return (secret) => {
    if (secret.startsWith(PREFIX)) return secret;
    key ??= (store === undefined ? undefined : storeKey(store)) ?? runtime.randomBytes(KEY_BYTES);
    const length = Math.max(SHORTEST, Buffer.byteLength(secret));
    return PREFIX + stream(key, secret, length - PREFIX.length);
  };
}

function stream(key: Buffer, secret: string, length: number): string {
  let text = '';
  for (let block = 0; text.length < length && block < 64; block++) {
    text += runtime.createHmac('sha256', key).update(`${block}\n${secret}`).digest('hex');
  }
  return text.slice(0, length).padEnd(length, '0');
}

function storeKey(store: string): Buffer | undefined {
  const path = join(store, 'redaction.key');
  try {
    return readKey(path) ?? makeKey(store, path);
  } catch {
    // A store that cannot be written: the sink counts that; tokens then hold for this process.
    return undefined;
  }
}

function readKey(path: string): Buffer | undefined {
  try {
    const key = runtime.readFileSync(path);
    return key.length === KEY_BYTES ? key : undefined;
  } catch {
    // Absent on first use.
    return undefined;
  }
}

function makeKey(store: string, path: string): Buffer | undefined {
  prepareStore(store, runsFolder(store));
  const key = runtime.randomBytes(KEY_BYTES);
  let fd: number;
  try {
    fd = runtime.openSync(path, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600);
  } catch {
    // Another process made it first.
    return readKey(path);
  }
  runtime.writeSync(fd, key);
  runtime.closeSync(fd);
  return key;
}
