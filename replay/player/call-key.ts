import { createHash } from 'node:crypto';
import { canonicalJson } from '../../instrumentation/schema/canonical-json';
import type { WireRequest } from '../../instrumentation/schema/records';

/** The part of a URL that names the call; the host may differ between recording and replay. */
export function routeOf(request: WireRequest): string {
  const url = URL.canParse(request.url) ? new URL(request.url) : undefined;
  return `${request.method.toUpperCase()} ${url === undefined ? request.url : url.pathname + url.search}`;
}

export function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : '';
}

/** Key of the exact bytes: route and body. Headers do not count (retry counters, ids and versions live there). */
export function exactKey(request: WireRequest): string {
  return `${routeOf(request)}\n${createHash('sha256').update(request.body).digest('base64')}`;
}

/**
 * Key of the meaning: JSON with sorted keys, ids made by the agent renamed in order of appearance (not erased, so that
 * cross references still count), multipart boundaries and the declared volatile fields left out.
 */
export function canonicalKey(request: WireRequest, ignore: readonly string[]): string {
  const text = request.body.toString('utf8');
  return `${routeOf(request)}\n${renameIds(canonicalBody(request, text, ignore))}`;
}

function canonicalBody(request: WireRequest, text: string, ignore: readonly string[]): string {
  const json = parseJson(text);
  if (json !== undefined) {
    for (const pointer of ignore) removeAt(json, pointer);
    return canonicalJson(json);
  }
  const type = request.headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? '';
  const boundary = /boundary="?([^";]+)/i.exec(type)?.[1];
  return boundary === undefined ? text : text.replaceAll(boundary, 'BOUNDARY');
}

/**
 * Ids as APIs, SDKs and agents make them: a known prefix and a long random tail with a digit, or a UUID. Other prefixes
 * do not count: `order_1234567890` is what somebody asks for, and must not match another order.
 */
const PREFIXES =
  'call|toolu|srvtoolu|tool|msg|run|chatcmpl|cmpl|resp|rs|fc|ws|step|thread|asst|req|trace|span|session|conv|id';
const ID = new RegExp(
  `\\b(?:(?:${PREFIXES})[_-](?=[A-Za-z0-9]*\\d)[A-Za-z0-9]{10,64}|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})\\b`,
  'gi',
);

/** May a question that holds `replayed` where the recorded one holds `recorded` be the same question? */
export type SameId = (recorded: string, replayed: string) => boolean;

/** The ids in a text, in the order in which they stand. */
export function idsIn(text: string): string[] {
  return text.match(ID) ?? [];
}

/** The ids of the meaning of a request, in the order in which the canonical key names them. */
export function idsOf(request: WireRequest, ignore: readonly string[]): string[] {
  return idsIn(canonicalBody(request, request.body.toString('utf8'), ignore));
}

function renameIds(text: string): string {
  const names = new Map<string, string>();
  return text.replace(ID, (id) => {
    let name = names.get(id);
    if (name === undefined) {
      name = `id:${names.size}`;
      names.set(id, name);
    }
    return name;
  });
}

/** The parsed text, or `undefined` when it is not JSON. */
export function parseJson(text: string): unknown {
  if (!/^\s*[[{"\d\-tfn]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // Not JSON: compared as text.
    return undefined;
  }
}

/** Path steps of a JSON Pointer (RFC 6901). */
export function pointerSteps(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function removeAt(json: unknown, pointer: string): void {
  const steps = pointerSteps(pointer);
  const last = steps.pop();
  let at: unknown = json;
  for (const step of steps)
    at =
      typeof at === 'object' && at !== null && Object.hasOwn(at, step)
        ? (at as Record<string, unknown>)[step]
        : undefined;
  if (last !== undefined && typeof at === 'object' && at !== null && Object.hasOwn(at, last))
    Reflect.deleteProperty(at, last);
}
