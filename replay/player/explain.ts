import type { ExchangeRecord, WireRequest } from '../../instrumentation/schema/records';
import { parseJson, routeOf } from './call-key';
import { firstDifference } from './json-difference';
import type { Difference } from './json-difference';
import { describeCall, short } from './recorded-calls';
import type { Divergence, DivergenceKind } from './report';

export interface ExplainContext {
  /** Turn number of a recorded call by span id; null when it is none. */
  turnOf(spanId: string): number | null;
  /** Turn of the override that has already been used, if any. */
  usedOverride(): { turn: number | null; text: string } | undefined;
  /** The session that a scope belongs to, when it is not among those that are replayed. */
  foreignSession(scope: string | undefined): string | undefined;
}

const ISO_DATE = /\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}/;
const EPOCH = /^1[5-9]\d{8}(?:\d{3})?$/;
const UUID = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/i;

/** Instructions have a field of their own, or a message whose role says so. */
function isInstruction({ path }: Difference, body: unknown): boolean {
  if (/^\/(system|instructions)\b/.test(path)) return true;
  const [, list = '', index = ''] = /^\/(messages|input)\/(\d+)/.exec(path) ?? [];
  const items = (body as Record<string, unknown> | null | undefined)?.[list];
  const role = Array.isArray(items) ? (items[Number(index)] as { role?: unknown } | undefined)?.role : undefined;
  return role === 'system' || role === 'developer';
}

/** What most likely made two values differ. @param body the recorded one, parsed, to tell instructions from messages */
export function likelyCause(difference: Difference, body?: unknown): string {
  const texts = [difference.expected, difference.actual].map((value) => short(value, 4_000));
  const both = (pattern: RegExp): boolean => texts.every((text) => pattern.test(text));
  if (both(ISO_DATE) || both(EPOCH)) return 'clock: a date or time of day in the request';
  if (both(UUID)) return 'generated id: a new UUID in the request';
  if (isInstruction(difference, body)) return 'prompt edit: the instructions differ from the recorded ones';
  if (/^\/(model|temperature|top_p|max_\w+|tools|tool_choice|response_format)/.test(difference.path))
    return 'request settings differ from the recorded ones';
  if (difference.expected === undefined) return 'the program sends more than was recorded';
  if (difference.actual === undefined) return 'the program sends less than was recorded';
  return /^\/(messages|input)\b/.test(difference.path)
    ? 'prompt edit: a message differs from the recorded one'
    : 'the content differs from the recorded one';
}

function bodiesDiffer(expected: WireRequest, actual: WireRequest): Difference {
  const a = expected.body.toString('utf8');
  const b = actual.body.toString('utf8');
  const jsonA = parseJson(a);
  const jsonB = parseJson(b);
  const difference = jsonA !== undefined && jsonB !== undefined ? firstDifference(jsonA, jsonB) : undefined;
  return difference ?? { path: '', expected: a, actual: b };
}

/** The unused recording that comes nearest to a request: same route first, then the longest common beginning. */
export function nearestExchange(
  request: WireRequest,
  scope: string | undefined,
  unused: readonly ExchangeRecord[],
): ExchangeRecord | undefined {
  const route = routeOf(request);
  let best: { record: ExchangeRecord; score: number } | undefined;
  for (const record of unused) {
    const common = commonBeginning(record.request.body, request.body);
    const score =
      (routeOf(record.request) === route ? 4 : 0) +
      (record.scope === scope ? 2 : 0) +
      common / (request.body.length + 1);
    if (best === undefined || score > best.score) best = { record, score };
  }
  return best?.record;
}

function commonBeginning(a: Buffer, b: Buffer): number {
  const length = Math.min(a.length, b.length);
  let i = 0;
  while (i < length && a[i] === b[i]) i += 1;
  return i;
}

/** Explains an HTTP call that no recording answers exactly. */
export function explainExchange(
  kind: DivergenceKind,
  call: {
    request: WireRequest;
    nearest: ExchangeRecord | undefined;
    answeredBy?: ExchangeRecord;
    scope?: string | undefined;
  },
  context: ExplainContext,
): Divergence {
  const foreign = context.foreignSession(call.scope);
  if (foreign !== undefined) return explainForeign(kind, `HTTP ${routeOf(call.request)}`, foreign);
  const reference = call.answeredBy ?? call.nearest;
  const override = context.usedOverride();
  const name = `HTTP ${routeOf(call.request)}`;
  if (reference === undefined) {
    return {
      kind,
      turn: null,
      rule: 'no recording left',
      path: '',
      expected: null,
      actual: short(call.request.body.toString('utf8'), 500),
      nearest: null,
      name,
      cause:
        override === undefined ? 'new call: every recording of this process has been used' : overrideCause(override),
      hint: hintFor(kind),
    };
  }
  const sameRoute = routeOf(reference.request) === routeOf(call.request);
  const difference = sameRoute
    ? bodiesDiffer(reference.request, call.request)
    : { path: '', expected: routeOf(reference.request), actual: routeOf(call.request) };
  return {
    kind,
    turn: context.turnOf(reference.spanId),
    rule: sameRoute ? 'body' : 'route',
    path: difference.path,
    expected: difference.expected === undefined ? null : clip(difference.expected),
    actual: difference.actual === undefined ? null : clip(difference.actual),
    nearest: describeCall(reference),
    name,
    cause:
      override !== undefined
        ? overrideCause(override)
        : sameRoute
          ? likelyCause(difference, parseJson(reference.request.body.toString('utf8')))
          : 'another call was recorded here',
    hint: hintFor(kind),
  };
}

/** The program came to another conversation than the one that is replayed. */
export function explainForeign(kind: DivergenceKind, name: string, sessionId: string): Divergence {
  return {
    kind,
    turn: null,
    rule: 'session',
    path: '',
    expected: null,
    actual: null,
    nearest: null,
    name,
    cause: `the program began session ${sessionId}, which is not among what is replayed`,
    hint: 'Replay the whole run: give its run id (see `reenact list`) or `last` in place of the session.',
  };
}

/** A call that is made for real because that was asked for, or because one before it was: nothing differs. */
export function explainLive(name: string, why: 'asked' | 'after'): Divergence {
  return {
    kind: 'live',
    turn: null,
    rule: 'live',
    path: '',
    expected: null,
    actual: null,
    nearest: null,
    name,
    cause: why === 'asked' ? 'it was asked for' : 'an earlier call went live, and all after it do',
    hint: hintFor('live'),
  };
}

function clip(value: unknown): unknown {
  const text = JSON.stringify(value) ?? '';
  return text.length > 2_000 ? `${text.slice(0, 2_000)}…` : value;
}

export function overrideCause(override: { turn: number | null; text: string }): string {
  return `changed by your override of ${override.turn === null ? override.text.split('=', 1)[0] : `turn ${override.turn}`}`;
}

export function hintFor(kind: DivergenceKind): string {
  switch (kind) {
    case 'diverged':
      return 'Answer it with --on-divergence recorded (the recorded answer of its place) or live, leave a volatile field out with --ignore POINTER, or change the program.';
    case 'relaxed':
      return 'It got the recorded answer of its place, which answers another question.';
    case 'live':
      return 'It was made for real, not answered from the recording.';
    case 'unused':
      return 'The program did not make this call. See the first divergence for the reason.';
    case 'blocked':
      return 'Nothing recorded answers it. Record the call, or allow it with --on-divergence live.';
  }
}
