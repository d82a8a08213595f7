import { ReenactError } from '../../../instrumentation/schema/errors';
import type { ExecutionLog, ExecutionTurn } from '../../../instrumentation/schema/execution-log';
import type { ReplayDocument } from '../../player/report';

/** What an assertion judges: the logs of a run, and how the run went. */
export interface Evidence {
  readonly logs: readonly ExecutionLog[];
  /** Absent when a recording is judged without a replay. */
  readonly report?: ReplayDocument;
}

/** `expected` and `actual` are written for people: they name values and turns. */
export interface Verdict {
  readonly passed: boolean;
  readonly expected: string;
  readonly actual: string;
}

/** An assertion as it stands in a scenario file. */
export interface AssertionSpec {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** One kind of assertion. A new one is one such file and one line in the registry. */
export interface AssertionKind {
  readonly type: string;
  /** @throws ReenactError ASSERTION_INVALID */
  readonly check: (spec: AssertionSpec, evidence: Evidence) => Verdict;
  /** Reads the fields without judging, so that a wrong scenario is refused before anything runs. */
  readonly validate: (spec: AssertionSpec) => void;
}

/** Makes a kind from a reader of its fields and a judge. */
export function defineAssertion<Fields>(
  type: string,
  read: (spec: SpecReader) => Fields,
  judge: (fields: Fields, evidence: Evidence) => Verdict,
): AssertionKind {
  const parse = (spec: AssertionSpec): Fields => {
    const reader = new SpecReader(spec);
    const fields = read(reader);
    reader.refuseOthers();
    return fields;
  };
  return { type, validate: (spec) => void parse(spec), check: (spec, evidence) => judge(parse(spec), evidence) };
}

/** Reads the fields of a spec and refuses those that nobody reads, so that a misspelt one is not ignored. */
export class SpecReader {
  private readonly read = new Set(['type']);

  constructor(private readonly spec: AssertionSpec) {}

  string(name: string): string {
    const value = this.optionalString(name);
    return value ?? this.fail(`needs "${name}", a string`);
  }

  optionalString(name: string): string | undefined {
    const value = this.any(name);
    if (value === undefined || typeof value === 'string') return value;
    return this.fail(`"${name}" must be a string`);
  }

  number(name: string): number {
    const value = this.optionalNumber(name);
    return value ?? this.fail(`needs "${name}", a number`);
  }

  optionalNumber(name: string): number | undefined {
    const value = this.any(name);
    if (value === undefined || (typeof value === 'number' && Number.isFinite(value))) return value;
    return this.fail(`"${name}" must be a number`);
  }

  strings(name: string): string[] {
    const value = this.any(name);
    if (Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'string'))
      return value as string[];
    return this.fail(`needs "${name}", a list of strings`);
  }

  optionalObject(name: string): Record<string, unknown> | undefined {
    const value = this.any(name);
    if (value === undefined) return undefined;
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
    return this.fail(`"${name}" must be an object`);
  }

  any(name: string): unknown {
    this.read.add(name);
    return Object.hasOwn(this.spec, name) ? this.spec[name] : undefined;
  }

  refuseOthers(): void {
    const other = Object.keys(this.spec).find((name) => !this.read.has(name));
    if (other !== undefined) this.fail(`has no field "${other}"`);
  }

  fail(what: string): never {
    throw new ReenactError('ASSERTION_INVALID', `assertion ${this.spec.type} ${what}`);
  }
}

/** A turn with its place. With several logs the number counts within its own log. */
export interface PlacedTurn {
  readonly turn: ExecutionTurn;
  readonly number: number;
  readonly log: ExecutionLog;
}

/** All turns of the evidence in order of time. */
export function allTurns(evidence: Evidence): PlacedTurn[] {
  const turns = evidence.logs.flatMap((log) =>
    log.turns.map((turn, index): PlacedTurn => ({ turn, number: index + 1, log })),
  );
  // A stable sort: turns of one log that began in the same millisecond keep their order.
  return evidence.logs.length < 2
    ? turns
    : turns.sort((a, b) => Date.parse(a.turn.timestamp) - Date.parse(b.turn.timestamp));
}

/** The tool calls of the evidence, in order. */
export function toolCalls(evidence: Evidence): PlacedTurn[] {
  return allTurns(evidence).filter((placed) => placed.turn.type === 'tool_call');
}

/** Name of the tool of a tool turn. */
export function toolName(placed: PlacedTurn): string {
  return String(placed.turn.request['name'] ?? '');
}

/** The calls made, as a sentence for `actual`. */
export function describeCalls(calls: readonly PlacedTurn[]): string {
  if (calls.length === 0) return 'no tool was called';
  const shown = calls.slice(0, 20).map((call) => `${toolName(call)} (turn ${call.number})`);
  return `called: ${shown.join(', ')}${calls.length > 20 ? `, and ${calls.length - 20} more` : ''}`;
}

/** A value in a message, cut to a readable length. */
export function shortJson(value: unknown, length = 200): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}
