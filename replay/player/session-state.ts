import { ReenactError } from '../../instrumentation/schema/errors';
import type { ExecutionLog } from '../../instrumentation/schema/execution-log';
import type { ReplayClock } from '../clock/replay-clock';
import type { VirtualTimers } from '../clock/virtual-timers';
import type { ExplainContext } from './explain';
import { resolveOverrides } from './overrides';
import type { Override, ResolvedOverrides } from './overrides';
import type { Divergence, DivergencePolicy, ProcessReport, ReplayOptions, Use } from './report';

/** A debugger that is attached stops here; without one this does nothing. */
function stopInDebugger(): void {
  // eslint-disable-next-line no-debugger -- the purpose of `--on-divergence stop`
  debugger;
}

/** What the parts of the player share: policy, overrides, the tally, and when the replay went live. */
export class ReplayState implements ExplainContext {
  readonly policy: DivergencePolicy;
  readonly options: ReplayOptions;
  readonly overrides: ResolvedOverrides;
  readonly used = new Map<string, Use>();
  readonly divergences: Divergence[] = [];
  readonly counts = { diverged: 0, live: 0, blocked: 0 };
  private readonly turns = new Map<string, number>();
  private readonly clock: ReplayClock;
  private readonly timers: VirtualTimers;
  private override: { turn: number | null; text: string } | undefined;
  private readonly usedTexts = new Set<string>();
  private readonly inferred = new Map<string, number>();
  private readonly sessionIds: ReadonlySet<string>;
  private latchedLive = false;

  constructor(parts: {
    options: ReplayOptions;
    logs: readonly ExecutionLog[];
    clock: ReplayClock;
    timers: VirtualTimers;
  }) {
    this.options = parts.options;
    this.policy = parts.options.onDivergence;
    this.clock = parts.clock;
    this.timers = parts.timers;
    this.overrides = resolveOverrides(parts.options.overrides, parts.logs);
    for (const log of parts.logs) {
      log.turns.forEach((turn, index) => {
        turn.spanIds?.forEach((spanId) => this.turns.set(spanId, index + 1));
        if (turn.inferred === true) this.inferred.set(String(turn.request['name']), index + 1);
      });
    }
    this.sessionIds = new Set(parts.logs.map((log) => log.sessionId));
  }

  turnOf(spanId: string): number | null {
    return this.turns.get(spanId) ?? null;
  }

  /** The turn of a tool that is known only from messages, by the tool's name. */
  inferredTurnOf(tool: string): number | undefined {
    return this.inferred.get(tool);
  }

  /** The session of a scope, when it is none of those that are replayed. */
  foreignSession(scope: string | undefined): string | undefined {
    const name = /^s:([^/#]*)/.exec(scope ?? '')?.[1];
    const id = name === undefined ? undefined : decodeURIComponent(name);
    return id === undefined || this.sessionIds.has(id) ? undefined : id;
  }

  usedOverride(): { turn: number | null; text: string } | undefined {
    return this.override;
  }

  overrideUsed(override: Override, turn: number | null): void {
    this.usedTexts.add(override.text);
    this.override ??= { turn, text: override.text };
  }

  /** From here on every call is made for real. */
  get isLiveFromHere(): boolean {
    return this.latchedLive;
  }

  /** The call of this recorded span begins: `--from-turn` may end the recorded part here. */
  reached(spanId: string): void {
    const { fromTurn } = this.options;
    const turn = this.turns.get(spanId);
    if (fromTurn !== undefined && turn !== undefined && turn >= fromTurn) this.latchedLive = true;
  }

  /** Does the policy make a call live that no recording answers? Latches `live-from-here`. */
  divergesToLive(): boolean {
    if (this.policy === 'live-from-here') this.latchedLive = true;
    return this.latchedLive || this.policy === 'live';
  }

  wentLive(divergence: Divergence): void {
    this.counts.live += 1;
    this.note(divergence);
    this.clock.goLive();
    this.timers.goLive();
  }

  diverged(divergence: Divergence): ReenactError {
    this.counts.diverged += 1;
    this.note(divergence);
    if (this.policy === 'stop') stopInDebugger();
    const code = divergence.nearest === null ? 'REPLAY_EXHAUSTED' : 'REPLAY_MISMATCH';
    return new ReenactError(
      code,
      `${divergence.name}: no recording answers this call; nearest: ${divergence.nearest ?? 'none left'} (${divergence.cause})`,
    );
  }

  blocked(divergence: Divergence): void {
    this.counts.blocked += 1;
    this.note(divergence);
  }

  note(divergence: Divergence): void {
    if (this.divergences.length < 1_000) this.divergences.push(divergence);
  }

  /** What the report of a process says of its calls. */
  report(): Pick<ProcessReport, 'used' | 'diverged' | 'live' | 'blocked' | 'divergences' | 'unusedOverrides'> {
    const { bySpan, byTool } = this.overrides;
    const texts = [...[...bySpan.values()].map(({ override }) => override), ...byTool.values()].map(({ text }) => text);
    const unusedOverrides = texts.filter((text) => !this.usedTexts.has(text));
    return { used: Object.fromEntries(this.used), ...this.counts, divergences: this.divergences, unusedOverrides };
  }
}
