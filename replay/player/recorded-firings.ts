import type { AmbientStream, TimerFiring } from '../../instrumentation/schema/ambient-log';
import type { VirtualTimer } from '../clock/virtual-timers';
import type { FiringLookup } from './scheduler';

/** The recorded firings of timers, found by scope, kind, delay and ordinal of creation. */
export class RecordedFirings implements FiringLookup {
  private readonly byTimer = new Map<string, TimerFiring[]>();
  private readonly startMs: number;

  constructor(streams: ReadonlyMap<string, AmbientStream>, startMs: number) {
    this.startMs = startMs;
    for (const { scope, timers } of streams.values()) {
      for (const firing of timers) {
        const id = `${scope}\n${firing.key}\n${firing.ordinal}`;
        const list = this.byTimer.get(id);
        if (list === undefined) this.byTimer.set(id, [firing]);
        else list.push(firing);
      }
    }
  }

  private listOf({ identity }: VirtualTimer): TimerFiring[] | undefined {
    return this.byTimer.get(`${identity.scope}\n${identity.key}\n${identity.ordinal}`);
  }

  peek(timer: VirtualTimer): { readonly seq: number; readonly ms: number } | undefined {
    const firing = this.listOf(timer)?.[0];
    return firing === undefined ? undefined : { seq: firing.seq, ms: this.startMs + firing.ms };
  }

  take(timer: VirtualTimer): void {
    this.listOf(timer)?.shift();
  }
}
