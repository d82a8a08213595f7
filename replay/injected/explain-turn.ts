import { hintFor, likelyCause, overrideCause } from '../player/explain';
import { firstDifference } from '../player/json-difference';
import type { Difference } from '../player/json-difference';
import { short } from '../player/recorded-calls';
import type { Divergence, DivergenceKind } from '../player/report';
import { kindOf, labelOf } from './recorded-turns';
import type { AskedCall, RecordedTurn } from './recorded-turns';
import type { UsedOverride } from './call-overrides';

/** The recording that comes nearest to a call: of the same kind and the most alike, else the next in order. */
export function nearestTurn(call: AskedCall, unused: readonly RecordedTurn[]): RecordedTurn | undefined {
  const kind = kindOf(call);
  const asked = JSON.stringify(call.request);
  let best: { recorded: RecordedTurn; score: number } | undefined;
  for (const recorded of unused) {
    if (kindOf(recorded.turn) !== kind) continue;
    const score = likeness(JSON.stringify(recorded.turn.request), asked);
    if (best === undefined || score > best.score) best = { recorded, score };
  }
  return best?.recorded ?? unused[0];
}

/** Length of what two texts have in common at both ends. */
function likeness(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  let start = 0;
  while (start < length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  return start + end;
}

/** Where the requests differ; the whole when they are calls of different kinds. */
export function requestDifference(recorded: RecordedTurn, call: AskedCall): Difference {
  const whole = { path: '', expected: recorded.label, actual: labelOf(call) };
  if (kindOf(recorded.turn) !== kindOf(call)) return whole;
  return firstDifference(recorded.turn.request, call.request) ?? whole;
}

/** Explains a call that no recording answers exactly. */
export function explainTurn(
  kind: DivergenceKind,
  call: AskedCall,
  found: { reference: RecordedTurn | undefined; override: UsedOverride | undefined },
): Divergence {
  const { reference, override } = found;
  const base = { kind, name: labelOf(call), hint: hintFor(kind) };
  if (reference === undefined) {
    return {
      ...base,
      turn: null,
      rule: 'no recording left',
      path: '',
      expected: null,
      actual: clipped(call.request),
      nearest: null,
      cause: override === undefined ? 'new call: every recording has been used' : overrideCause(override),
    };
  }
  const sameKind = kindOf(reference.turn) === kindOf(call);
  const difference = requestDifference(reference, call);
  const cause = sameKind ? likelyCause(difference) : 'another call was recorded here';
  return {
    ...base,
    turn: reference.number,
    rule: !sameKind ? 'call' : call.type === 'tool_call' ? 'args' : 'body',
    path: difference.path,
    expected: clipped(difference.expected),
    actual: clipped(difference.actual),
    nearest: reference.placedLabel,
    cause: override === undefined ? cause : overrideCause(override),
  };
}

/** Explains a turn that no call asked for. */
export function explainUnused(recorded: RecordedTurn, first: Divergence | undefined): Divergence {
  return {
    kind: 'unused',
    turn: recorded.number,
    rule: 'used-once',
    path: '',
    expected: recorded.label,
    actual: null,
    nearest: null,
    cause:
      first === undefined
        ? 'the program ended without making this call'
        : `the program did not come to this call after the first difference (${first.name})`,
    hint: hintFor('unused'),
    name: recorded.label,
  };
}

/** Explains a turn whose question came before one whose answer it had waited for. */
export function explainReordered(recorded: RecordedTurn): Divergence {
  return {
    kind: 'relaxed',
    turn: recorded.number,
    rule: 'order',
    path: '',
    expected: 'asked after the answers of the turns before it',
    actual: 'asked before one of them',
    nearest: recorded.placedLabel,
    cause: 'the program asks the same questions in another order',
    hint: "Use match: 'content' if the order does not matter.",
    name: recorded.label,
  };
}

/** The message of the error that the program gets. */
export function mismatchMessage(call: AskedCall, reference: RecordedTurn): string {
  const asked = labelOf(call);
  if (kindOf(reference.turn) !== kindOf(call)) return `${asked} was asked where ${reference.placedLabel} was recorded`;
  const { path, expected, actual } = requestDifference(reference, call);
  return `${asked} differs from ${reference.placedLabel} in ${path || 'the whole'}: recorded was ${short(expected)}, asked is ${short(actual)}`;
}

function clipped(value: unknown): unknown {
  if (value === undefined) return null;
  const text = JSON.stringify(value) ?? '';
  return text.length > 2_000 ? `${text.slice(0, 2_000)}…` : value;
}
