import type { ExecutionLog } from '../../instrumentation/schema/execution-log';
import type { Divergence, ReplayDocument, Use } from '../player/report';
import { explainReordered, explainUnused } from './explain-turn';
import type { RecordedTurn, RecordedTurns } from './recorded-turns';

/** Unused turns that are named one by one; the count is always whole. */
const MAX_UNUSED_SHOWN = 50;
/** Divergences that are kept; the counts are always whole. */
const MAX_DIVERGENCES = 1_000;

/** Counts how the calls of a replay went. */
export class ReplayTally {
  private readonly uses = new Map<RecordedTurn, Use>();
  private readonly divergences: Divergence[] = [];
  private diverged = 0;
  private live = 0;

  used(recorded: RecordedTurn, use: Use): void {
    this.uses.set(recorded, use);
  }

  add(divergence: Divergence): void {
    if (divergence.kind === 'diverged') this.diverged += 1;
    if (divergence.kind === 'live') this.live += 1;
    if (this.divergences.length < MAX_DIVERGENCES) this.divergences.push(divergence);
  }

  /** The document of `reenact replay` (DESIGN 9). */
  document(about: {
    ref: string;
    runId: string;
    logs: readonly ExecutionLog[];
    turns: readonly RecordedTurns[];
    /** Whether asking in another order counts. */
    causal: boolean;
    exitCode: number;
    replayLogs: ExecutionLog[];
  }): ReplayDocument {
    const all = about.turns.flatMap((turns) => [...turns.all]);
    // A tool call that was only inferred from the messages need not pass here again.
    const counted = all.filter((recorded) => recorded.turn.inferred !== true || this.uses.has(recorded));
    const unused = counted.filter((recorded) => !this.uses.has(recorded));
    const reordered = about.causal
      ? about.turns.flatMap((turns) => turns.reordered()).filter((recorded) => this.uses.get(recorded) === 'exact')
      : [];
    const count = (use: Use): number => counted.filter((recorded) => this.uses.get(recorded) === use).length;
    const exact = count('exact') - reordered.length;
    const relaxed = count('relaxed') + reordered.length;
    const overridden = count('overridden');
    const total = counted.length;
    const troubles = this.diverged + this.live + unused.length;
    return {
      ref: about.ref,
      runId: about.runId,
      sessionIds: about.logs.map((log) => log.sessionId),
      total,
      replayed: exact + relaxed + overridden,
      exact,
      relaxed,
      overridden,
      diverged: this.diverged,
      live: this.live,
      unused: unused.length,
      blocked: 0,
      gaps: about.logs.reduce((sum, log) => sum + (log.gaps?.length ?? 0), 0),
      faithful: total > 0 && exact === total && troubles === 0,
      program: { exitCode: about.exitCode, recordedExitCode: null, stdoutEqual: null },
      divergences: [
        ...this.divergences,
        ...reordered.map(explainReordered),
        ...unused.slice(0, MAX_UNUSED_SHOWN).map((recorded) => explainUnused(recorded, this.divergences[0])),
      ],
      logs: about.replayLogs,
    };
  }
}
