import { isObject, parseJson } from './json-fields';

/** Lists of messages, by the names that the formats give them. */
const LISTS = ['messages', 'input'] as const;

/** Bodies kept, and their bytes: a conversation beyond them is parsed as a whole each time. */
const MAX_KEPT = 16;
const MAX_KEPT_BYTES = 8 * 1024 * 1024;

const COMMA = 0x2c;
const BRACKET = 0x5d;

interface Kept {
  readonly bytes: Buffer;
  readonly body: Record<string, unknown>;
  /** Where the list of messages ends in the bytes, once that is known. */
  readonly listEnd: number | undefined;
}

/**
 * Parses the bodies of a conversation, each of which is the one before with some messages more. Of such a body only the
 * new messages are parsed, so that the cost of a call does not grow with the history.
 *
 * A result belongs to the next call of the same key: it is the same object, grown.
 */
export class GrowingBodies {
  private readonly kept = new Map<string, Kept>();
  private keptBytes = 0;

  /** @param key of the conversation; bodies of one key are compared with each other. */
  parse(key: string, bytes: Buffer): unknown {
    const before = this.kept.get(key);
    const grown = before && grow(before, bytes);
    if (grown !== undefined) return this.keep(key, grown);
    const body = parseJson(bytes.toString('utf8'));
    if (!isObject(body)) return body;
    return this.keep(key, { bytes, body, listEnd: before && endOfGrownList(before, { bytes, body }) });
  }

  private keep(key: string, next: Kept): unknown {
    this.forget(key);
    if (next.bytes.length > MAX_KEPT_BYTES) return next.body;
    this.kept.set(key, next);
    this.keptBytes += next.bytes.length;
    for (const oldest of this.kept.keys()) {
      if (this.kept.size <= MAX_KEPT && this.keptBytes <= MAX_KEPT_BYTES) break;
      this.forget(oldest);
    }
    return next.body;
  }

  private forget(key: string): void {
    this.keptBytes -= this.kept.get(key)?.bytes.length ?? 0;
    this.kept.delete(key);
  }
}

/** The kept body grown to `next`; undefined when `next` is not the kept text with elements appended to its list. */
function grow({ bytes, body, listEnd }: Kept, next: Buffer): Kept | undefined {
  if (listEnd === undefined || !isInserted(bytes, next, listEnd)) return undefined;
  const end = next.length - (bytes.length - listEnd);
  const added = parseJson(`[${next.toString('utf8', listEnd + 1, end)}]`);
  const list = listOf(body);
  if (!Array.isArray(added) || list === undefined) return undefined;
  // One by one: a spread of many arguments overflows the stack.
  for (const element of added as unknown[]) list.push(element);
  return { bytes: next, body, listEnd: end };
}

/** `next` is `before` with something inserted at `at` that begins with a comma. */
function isInserted(before: Buffer, next: Buffer, at: number): boolean {
  const tail = before.length - at;
  return (
    next.length > before.length &&
    next[at] === COMMA &&
    before.compare(next, 0, at, 0, at) === 0 &&
    before.compare(next, next.length - tail, next.length, at, before.length) === 0
  );
}

/**
 * Where the list of messages ends in a body that was parsed as a whole. Where two bodies first differ, one having `]`
 * and the other a comma, some list or text has grown; that it is the list of messages, its length tells.
 */
function endOfGrownList(before: Kept, next: { bytes: Buffer; body: Record<string, unknown> }): number | undefined {
  const at = firstDifference(before.bytes, next.bytes);
  if (before.bytes[at] !== BRACKET || !isInserted(before.bytes, next.bytes, at)) return undefined;
  const end = next.bytes.length - (before.bytes.length - at);
  const added = parseJson(`[${next.bytes.toString('utf8', at + 1, end)}]`);
  const grownBy = (listOf(next.body)?.length ?? 0) - (listOf(before.body)?.length ?? 0);
  return Array.isArray(added) && added.length > 0 && added.length === grownBy ? end : undefined;
}

function listOf(body: Record<string, unknown>): unknown[] | undefined {
  for (const name of LISTS) if (Array.isArray(body[name])) return body[name] as unknown[];
  return undefined;
}

const BLOCK = 1024;

function firstDifference(a: Buffer, b: Buffer): number {
  const most = Math.min(a.length, b.length);
  let at = 0;
  while (at + BLOCK <= most && a.compare(b, at, at + BLOCK, at, at + BLOCK) === 0) at += BLOCK;
  while (at < most && a[at] === b[at]) at++;
  return at;
}
