import type { ExecutionLog } from '../../instrumentation/schema/execution-log';

export type DivergenceKind = 'diverged' | 'relaxed' | 'live' | 'unused' | 'blocked';

/** One call that no recording answered exactly, explained. */
export interface Divergence {
  kind: DivergenceKind;
  /** 1-based, as `show` prints it; null when the call belongs to no turn. */
  turn: number | null;
  /** The rule that failed, e.g. `body`, `scope`, `order`. */
  rule: string;
  /** JSON Pointer of the first difference. */
  path: string;
  expected: unknown;
  actual: unknown;
  /** The recording that came nearest, in words. */
  nearest: string | null;
  cause: string;
  hint: string;
  /** The call, in words. */
  name: string;
  spanId?: string;
  stack?: string;
}

/** How a recorded call was used. */
export type Use = 'exact' | 'relaxed' | 'overridden' | 'live';

/** What a replayed process writes to `<REENACT_REPORT_DIR>/<processPath>.json` when it ends. */
export interface ProcessReport {
  processPath: string;
  runId: string;
  sessionIds: string[];
  /** By span id of the recorded call. */
  used: Record<string, Use>;
  diverged: number;
  live: number;
  blocked: number;
  divergences: Divergence[];
  /** Decisions and outcomes that differ from the recorded ones; they count as no call. */
  statements?: Divergence[];
  /** `--set` texts that answered no call of this process. */
  unusedOverrides?: string[];
  stdout: { sha256: string; bytes: number } | null;
  /** Absent when the process could not begin. */
  exitCode?: number;
  /** The replay could not begin or go on. */
  fatal?: { code: string; message: string };
}

/** The document of `reenact replay`. */
export interface ReplayDocument {
  ref: string;
  runId: string;
  sessionIds: string[];
  total: number;
  /** exact + relaxed + overridden. */
  replayed: number;
  exact: number;
  relaxed: number;
  overridden: number;
  diverged: number;
  live: number;
  unused: number;
  blocked: number;
  gaps: number;
  faithful: boolean;
  program: {
    exitCode: number;
    recordedExitCode: number | null;
    /** null when it cannot be compared, e.g. because only a part of the run is replayed. */
    stdoutEqual: boolean | null;
  };
  divergences: Divergence[];
  /** Sentences for people: tools that ran for real, changes that changed nothing. */
  notes?: string[];
  logs: ExecutionLog[];
}

/** What happens when no recording answers a call exactly. */
export type DivergencePolicy = 'fail' | 'recorded' | 'live' | 'live-from-here' | 'stop';

export const DIVERGENCE_POLICIES: readonly DivergencePolicy[] = ['fail', 'recorded', 'live', 'live-from-here', 'stop'];

/** Content of `REENACT_REPLAY_OPTIONS`. */
export interface ReplayOptions {
  /** `--set` texts, `@FILE` already read in. */
  overrides: string[];
  onDivergence: DivergencePolicy;
  /** JSON Pointers that do not count when calls are matched. */
  ignore: string[];
  live?: 'llm' | 'tools';
  fromTurn?: number;
  /** Paths that the program may write to, beside the store and the temporary folder. */
  allowWrite?: string[];
  /** Run that is replayed. */
  seedRun: string;
}
