import type { ExecutionLog } from '../../instrumentation/schema/execution-log';
import type { CallRecord, Recording } from '../../instrumentation/schema/records';
import { countedCalls } from '../player/counted-calls';
import type { Divergence, DivergencePolicy, ProcessReport, ReplayDocument, Use } from '../player/report';
import { replayNotes } from './replay-notes';

/** Unused calls that are named one by one; the count is always whole. */
const MAX_UNUSED_SHOWN = 50;

export interface ReplayFacts {
  readonly ref: string;
  readonly runId: string;
  /** What was replayed. */
  readonly logs: readonly ExecutionLog[];
  readonly recording: Recording;
  readonly reports: readonly ProcessReport[];
  readonly exitCode: number;
  readonly stdoutComparable: boolean;
  /** Logs of the replay itself. */
  readonly replayLogs: ExecutionLog[];
}

/** Merges what the replayed processes reported into the document of `reenact replay`. */
export function buildReplayDocument(facts: ReplayFacts): ReplayDocument {
  const calls = countedCalls(facts.recording.calls);
  const uses = mergeUses(facts.reports);
  const count = (use: Use): number => calls.filter((call) => uses.get(call.spanId) === use).length;
  const [exact, relaxed, overridden] = [count('exact'), count('relaxed'), count('overridden')];
  const unused = calls.filter((call) => !uses.has(call.spanId));
  const sum = (field: 'diverged' | 'live' | 'blocked'): number =>
    facts.reports.reduce((total, report) => total + report[field], 0);
  const counts = {
    total: calls.length,
    replayed: exact + relaxed + overridden,
    exact,
    relaxed,
    overridden,
    diverged: sum('diverged'),
    live: sum('live'),
    unused: unused.length,
    blocked: sum('blocked'),
    gaps: countGaps(facts.logs),
  };
  const program = compareProgram(facts);
  const statements = facts.reports.flatMap((report) => report.statements ?? []);
  const told = [
    ...facts.reports.flatMap((report) => report.divergences),
    ...statements,
    ...programDivergences(program, { overridden: counts.overridden > 0, lengths: outputLengths(facts) }),
  ];
  const notes = replayNotes(facts.logs, facts.reports);
  return {
    ref: facts.ref,
    runId: facts.runId,
    sessionIds: facts.logs.map((log) => log.sessionId),
    ...counts,
    faithful: statements.length === 0 && isFaithful(counts, program),
    program,
    divergences: [
      ...told,
      ...unused
        .slice(0, MAX_UNUSED_SHOWN)
        .map((call) => unusedDivergence(call, facts.logs, { first: told[0], overridden: counts.overridden > 0 })),
    ],
    ...(notes.length > 0 && { notes }),
    logs: facts.replayLogs,
  };
}

type Counts = Pick<
  ReplayDocument,
  'total' | 'replayed' | 'exact' | 'relaxed' | 'overridden' | 'diverged' | 'live' | 'unused' | 'blocked' | 'gaps'
>;

function isFaithful(counts: Counts, program: ReplayDocument['program']): boolean {
  return (
    counts.total > 0 &&
    counts.exact === counts.total &&
    counts.diverged + counts.live + counts.unused + counts.blocked === 0 &&
    (program.recordedExitCode === null || program.exitCode === program.recordedExitCode) &&
    program.stdoutEqual !== false
  );
}

/** The line that ends every replay on stderr. */
export function summaryLine(counts: Counts): string {
  const fields = ['exact', 'relaxed', 'overridden', 'diverged', 'live', 'unused', 'blocked', 'gaps'] as const;
  return `reenact: replayed ${counts.replayed}/${counts.total} ${fields.map((field) => `${field}=${counts[field]}`).join(' ')}`;
}

/**
 * Exit code of a replay: 0 when faithful; with overrides or a policy that answers changed questions, 0 when the
 * program ran to its end and nothing diverged or was blocked; else 1.
 */
export function replayExitCode(
  document: ReplayDocument,
  asked: {
    overrides: readonly string[];
    onDivergence: DivergencePolicy;
    live?: string | undefined;
    fromTurn?: number | undefined;
  },
): 0 | 1 {
  if (document.faithful) return 0;
  const whatIf =
    asked.overrides.length > 0 ||
    asked.onDivergence !== 'fail' ||
    asked.live !== undefined ||
    asked.fromTurn !== undefined;
  const ranToItsEnd =
    document.program.exitCode === 0 || document.program.exitCode === document.program.recordedExitCode;
  return whatIf && ranToItsEnd && document.diverged === 0 && document.blocked === 0 ? 0 : 1;
}

function mergeUses(reports: readonly ProcessReport[]): Map<string, Use> {
  return new Map(reports.flatMap((report) => Object.entries(report.used)));
}

function countGaps(logs: readonly ExecutionLog[]): number {
  const gaps = logs.flatMap((log) => log.gaps ?? []);
  return new Set(gaps.map((gap) => `${gap.code}\n${gap.spanId ?? ''}\n${gap.message}`)).size;
}

/**
 * Compares how the program ended and what it printed, process by process: a shell or npm may stand between the command
 * and the processes that were recorded, and its exit code was not.
 */
function compareProgram(facts: ReplayFacts): ReplayDocument['program'] {
  const exits = facts.stdoutComparable ? facts.recording.exits : [];
  const pairs = exits.flatMap((exit) => {
    const report = facts.reports.find(({ processPath }) => processPath === exit.processPath);
    return report === undefined ? [] : [{ exit, report }];
  });
  const first = exits.find(({ processPath }) => processPath === '0');
  const endedAlike = pairs.length > 0 && pairs.every(({ exit, report }) => exit.exitCode === report.exitCode);
  const outputs = pairs.flatMap(({ exit: { stdout }, report }) =>
    stdout === undefined || report.stdout === null
      ? []
      : [stdout.sha256 === report.stdout.sha256 && stdout.bytes === report.stdout.bytes],
  );
  return {
    exitCode: facts.exitCode,
    // The code of the whole run says nothing about one of its sessions.
    recordedExitCode: endedAlike ? facts.exitCode : (first?.exitCode ?? null),
    stdoutEqual: outputs.length === 0 ? null : outputs.every(Boolean),
  };
}

/** Bytes of output then and now, of the first process whose output differs: a recording keeps no more of it. */
function outputLengths({ recording, reports }: ReplayFacts): readonly [number, number] | undefined {
  for (const { processPath, stdout } of recording.exits) {
    const now = reports.find((report) => report.processPath === processPath)?.stdout;
    if (stdout !== undefined && now && stdout.sha256 !== now.sha256) return [stdout.bytes, now.bytes];
  }
  return undefined;
}

interface ProgramContext {
  readonly overridden: boolean;
  readonly lengths: readonly [number, number] | undefined;
}

function programDivergences(program: ReplayDocument['program'], { overridden, lengths }: ProgramContext): Divergence[] {
  const found: Divergence[] = [];
  const base = { kind: 'diverged', turn: null, nearest: null } as const;
  if (program.recordedExitCode !== null && program.exitCode !== program.recordedExitCode)
    found.push({
      ...base,
      rule: 'exit-code',
      path: '/program/exitCode',
      expected: program.recordedExitCode,
      actual: program.exitCode,
      cause: 'The program ended otherwise than when it was recorded.',
      hint: 'An earlier divergence explains it, or the code or its environment has changed.',
      name: 'end of the program',
    });
  if (program.stdoutEqual === false)
    found.push({
      ...base,
      rule: 'stdout',
      path: '/program/stdoutEqual',
      expected: lengths === undefined ? 'the recorded output' : `${lengths[0]} bytes`,
      actual:
        lengths === undefined
          ? 'another output'
          : lengths[0] === lengths[1]
            ? 'as many, but others'
            : `${lengths[1]} bytes`,
      cause:
        'The program printed something else than when it was recorded (of which length and hash are kept, not the text).',
      hint: overridden
        ? 'What was changed with --set leads to it; see what follows with `reenact diff`.'
        : 'An earlier divergence explains it, or the program prints a value that is not recorded (a process id, a file).',
      name: 'output of the program',
    });
  return found;
}

interface UnusedContext {
  readonly first: Divergence | undefined;
  readonly overridden: boolean;
}

function unusedCause(turn: number | null, { first, overridden }: UnusedContext): string {
  if (first === undefined || first.name.endsWith(' of the program'))
    return overridden
      ? 'What was changed with --set led the program another way.'
      : 'The program ended without making this call.';
  if (first.kind === 'live') return `It was made for real, or not at all, after ${first.name} had gone live.`;
  if (first.turn !== null && first.turn === turn)
    return 'It is the nearest to the first difference, which asks otherwise.';
  return `The program did not come to this call after the first difference (${first.name}).`;
}

function unusedDivergence(call: CallRecord, logs: readonly ExecutionLog[], context: UnusedContext): Divergence {
  const { first } = context;
  const turn = turnOf(call.spanId, logs);
  return {
    kind: 'unused',
    turn,
    rule: 'used-once',
    path: '',
    expected: describeCall(call),
    actual: null,
    nearest: null,
    cause: unusedCause(turn, context),
    hint: first === undefined ? 'The code or its input has changed since the recording.' : 'Explain that one first.',
    name: describeCall(call),
    spanId: call.spanId,
  };
}

/** 1-based turn of a call, with a single log; the turn within its own log otherwise. */
export function turnOf(spanId: string, logs: readonly ExecutionLog[]): number | null {
  for (const log of logs) {
    const index = log.turns.findIndex((turn) => turn.spanIds?.includes(spanId));
    if (index >= 0) return index + 1;
  }
  return null;
}

function describeCall(call: CallRecord): string {
  switch (call.kind) {
    case 'llm':
    case 'http':
      return `${call.kind} ${call.request.method} ${call.request.url}`;
    case 'tool':
      return `tool ${call.tool}`;
    case 'observation':
      return `observation ${call.key}`;
    case 'decision':
      return `decision ${call.decision}`;
  }
}
