import { closeSync, constants, openSync, readFileSync, writeSync } from 'node:fs';
import { readFileLines } from './line-reader';
import type { OtlpResource, OtlpSpan } from './otlp';
import type { WaitingSpan } from './otlp-body';
import { SENT_END } from './store-paths';
import type { SpoolAccess } from './span-sender';

/** Captured when the package loads; a replay replaces functions of `fs`. */
const fs = { closeSync, openSync, readFileSync, writeSync };

/** Access to one spool file and its note of what was sent; `failed` is told of notes that cannot be written. */
export function openSpoolAccess(path: string, failed: (error: unknown) => void): SpoolAccess {
  const access: SpoolAccess = {
    sent: readSent(path) ?? 0,
    read: (maxBytes) => readWaiting(path, access.sent, maxBytes),
    save: () => {
      try {
        writeSent(path, access.sent);
      } catch (error) {
        failed(error);
      }
    },
  };
  return access;
}

/** Written over what was there: the number only grows, and to cut a file first costs some file systems milliseconds. */
function writeSent(path: string, sent: number): void {
  const fd = fs.openSync(path + SENT_END, constants.O_CREAT | constants.O_WRONLY | (constants.O_NOFOLLOW ?? 0), 0o600);
  try {
    fs.writeSync(fd, String(sent), 0);
  } finally {
    fs.closeSync(fd);
  }
}

/** Bytes of a spool file that were sent; `undefined` when its process had no endpoint. */
export function readSent(path: string): number | undefined {
  let text: string;
  try {
    text = fs.readFileSync(path + SENT_END, 'utf8');
  } catch {
    // No note: the spans of this file were not meant to be sent.
    return undefined;
  }
  const sent = Number(text);
  return Number.isSafeInteger(sent) && sent >= 0 ? sent : 0;
}

async function readWaiting(path: string, start: number, maxBytes: number): Promise<WaitingSpan[]> {
  const waiting: WaitingSpan[] = [];
  let bytes = 0;
  for await (const line of readFileLines(path, start)) {
    if (!line.complete) break;
    const size = Buffer.byteLength(line.text) + 1;
    if (waiting.length > 0 && bytes + size > maxBytes) break;
    bytes += size;
    waiting.push(...spansOf(line.text, { bytes: size, end: line.end }));
  }
  return waiting;
}

function spansOf(text: string, place: { bytes: number; end: number }): WaitingSpan[] {
  try {
    const { resourceSpans } = JSON.parse(text) as {
      resourceSpans: { resource: OtlpResource; scopeSpans: { spans: OtlpSpan[] }[] }[];
    };
    return resourceSpans.flatMap(({ resource, scopeSpans }) =>
      scopeSpans.flatMap(({ spans }) => spans.map((span) => ({ resource, span, ...place }))),
    );
  } catch {
    // A line cut by a full disk: the reader of the run names it; there is nothing to send.
    return [];
  }
}
