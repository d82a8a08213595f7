import { canonicalJson } from '../../instrumentation/schema/canonical-json';
import type {
  CallRecord,
  ExchangeRecord,
  ObservationRecord,
  ToolRecord,
  WireRequest,
} from '../../instrumentation/schema/records';
import { canonicalKey, exactKey, idsOf, routeOf } from './call-key';
import type { SameId } from './call-key';

export type FunctionCallRecord = ToolRecord | ObservationRecord;

interface Entry {
  readonly record: ExchangeRecord;
  readonly route: string;
  readonly exact: string;
  /** Made at the first miss of the exact key: most replays never need it. */
  canonical: string | undefined;
}

export interface ExchangeMatch {
  readonly record: ExchangeRecord;
  readonly rule: 'exact' | 'canonical' | 'exact elsewhere' | 'canonical elsewhere';
}

/** The recorded HTTP attempts of one process that no call has used yet. Each is used once. */
export class RecordedExchanges {
  private readonly entries = new Map<string, Entry>();
  private readonly byExact = new Map<string, Set<Entry>>();
  private readonly ignore: readonly string[];
  private readonly sameId: SameId;
  readonly origins: ReadonlySet<string>;

  /** @param sameId which ids of the canonical key may differ; all of them without it */
  constructor(records: readonly ExchangeRecord[], ignore: readonly string[], sameId: SameId = () => true) {
    this.ignore = ignore;
    this.sameId = sameId;
    for (const record of [...records].sort((a, b) => a.seqStart - b.seqStart)) {
      const entry: Entry = {
        record,
        route: routeOf(record.request),
        exact: exactKey(record.request),
        canonical: undefined,
      };
      this.entries.set(record.spanId, entry);
      const same = this.byExact.get(entry.exact);
      if (same === undefined) this.byExact.set(entry.exact, new Set([entry]));
      else same.add(entry);
    }
    this.origins = new Set(records.map((record) => new URL(record.request.url).origin));
  }

  /** The rules of DESIGN 7, first that applies: same scope and key, else the same key elsewhere if it is unique. */
  match(request: WireRequest, scope: string | undefined): ExchangeMatch | undefined {
    const exact = [...(this.byExact.get(exactKey(request)) ?? [])];
    const here = exact.find((entry) => scope === undefined || entry.record.scope === scope);
    if (here !== undefined) return { record: here.record, rule: 'exact' };
    const canonical = this.canonicalMatches(request);
    const canonicalHere = canonical.find((entry) => scope === undefined || entry.record.scope === scope);
    if (canonicalHere !== undefined) return { record: canonicalHere.record, rule: 'canonical' };
    if (exact.length === 1 && exact[0] !== undefined) return { record: exact[0].record, rule: 'exact elsewhere' };
    if (exact.length === 0 && canonical.length === 1 && canonical[0] !== undefined)
      return { record: canonical[0].record, rule: 'canonical elsewhere' };
    return undefined;
  }

  private canonicalMatches(request: WireRequest): Entry[] {
    const route = routeOf(request);
    const candidates = [...this.entries.values()].filter((entry) => entry.route === route);
    if (candidates.length === 0) return [];
    const key = canonicalKey(request, this.ignore);
    const alike = candidates.filter(
      (entry) => (entry.canonical ??= canonicalKey(entry.record.request, this.ignore)) === key,
    );
    if (alike.length === 0) return [];
    const ids = idsOf(request, this.ignore);
    return alike.filter((entry) =>
      idsOf(entry.record.request, this.ignore).every((id, i) => id === ids[i] || this.sameId(id, ids[i] ?? '')),
    );
  }

  claim(record: ExchangeRecord): void {
    const entry = this.entries.get(record.spanId);
    if (entry === undefined) return;
    this.entries.delete(record.spanId);
    this.byExact.get(entry.exact)?.delete(entry);
  }

  /** Unused recordings, earliest first. */
  unused(): ExchangeRecord[] {
    return [...this.entries.values()].map((entry) => entry.record);
  }
}

function functionName(record: FunctionCallRecord): string {
  return record.kind === 'tool' ? record.tool : record.key;
}

/** The recorded tool calls and observations of one process that no call has used yet. */
export class RecordedFunctions {
  private readonly records: FunctionCallRecord[];
  private readonly seenNames = new Set<string>();

  constructor(records: readonly FunctionCallRecord[]) {
    this.records = [...records].sort((a, b) => a.seqStart - b.seqStart);
    for (const record of records) this.seenNames.add(`${record.kind}:${functionName(record)}`);
  }

  /** Exact: same name and arguments, in this scope, else elsewhere if unique. */
  match(call: {
    kind: 'tool' | 'observation';
    name: string;
    args: unknown;
    scope: string;
  }): FunctionCallRecord | undefined {
    const args = canonicalJson(call.args);
    const same = this.named(call).filter((record) => canonicalJson(record.args) === args);
    return same.find((record) => record.scope === call.scope) ?? (same.length === 1 ? same[0] : undefined);
  }

  /** The unused recordings of this function, those of the scope first. */
  named(call: { kind: 'tool' | 'observation'; name: string; scope: string }): FunctionCallRecord[] {
    const named = this.records.filter((record) => record.kind === call.kind && functionName(record) === call.name);
    return [
      ...named.filter((record) => record.scope === call.scope),
      ...named.filter((record) => record.scope !== call.scope),
    ];
  }

  /** Was it ever recorded, used up or not? */
  knows(call: { kind: 'tool' | 'observation'; name: string }): boolean {
    return this.seenNames.has(`${call.kind}:${call.name}`);
  }

  claim(record: FunctionCallRecord): void {
    const at = this.records.indexOf(record);
    if (at >= 0) this.records.splice(at, 1);
  }

  unused(): readonly FunctionCallRecord[] {
    return this.records;
  }
}

/** A call in words, for explanations. */
export function describeCall(record: CallRecord): string {
  if (record.kind === 'tool') return `tool ${record.tool}(${short(record.args)})`;
  if (record.kind === 'observation') return `observation ${record.key}`;
  if (record.kind === 'decision') return `decision ${record.decision}`;
  return `${record.kind === 'llm' ? 'LLM call' : 'HTTP'} ${routeOf(record.request)}`;
}

export function short(value: unknown, limit = 120): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined');
  return text.length > limit ? `${text.slice(0, limit)}…` : text;
}
