import { originals } from '../../instrumentation/originals';
import { Turns } from '../clock/turns';

/** Resources that may stay active for ever without the program being about to do something. */
const PASSIVE = new Set([
  'Immediate',
  'Timeout',
  'TTYWrap',
  'PipeWrap',
  'MessagePort',
  'SignalWrap',
  'TCPServerWrap',
  'PipeServerWrap',
  'TCPSocketWrap',
  'TLSWrap',
  'UDPWRAP',
  'FSEventWrap',
  'StatWatcher',
]);

/** Idle turns of the event loop that count as rest. */
const IDLE_TURNS = 6;
/** After so many busy turns the loop sleeps between looks, to leave the processor to what it waits for. */
const SPIN_TURNS = 500;

export interface QuiescenceProbe {
  /** Grows with everything that happens inside the process without a resource: virtual bytes, live calls under way. */
  activity(): number;
  /** Something real is under way that must end first, e.g. a live call. */
  busy(): boolean;
}

/** What the scheduler knows of it. */
export interface Rest {
  /** Calls `rested` once the program is at rest. */
  watch(rested: () => void): void;
}

/** Is something of the program under way outside of JavaScript that will come back by itself? */
export type ResourcesBusy = () => boolean;

/** Finds out when the program can do nothing more until the player gives it something. */
export class Quiescence implements Rest {
  private readonly probe: QuiescenceProbe;
  private readonly turns: Turns;
  private readonly resourcesBusy: ResourcesBusy;
  private watching = false;

  /** @param turns shared with what gives the program its events, so that both take one turn each. */
  constructor(probe: QuiescenceProbe, turns = new Turns(), resourcesBusy: ResourcesBusy = processResources()) {
    this.probe = probe;
    this.turns = turns;
    this.resourcesBusy = resourcesBusy;
  }

  /** Calls `rested` once the process is at rest; one watch at a time. Holds the process alive until then. */
  watch(rested: () => void): void {
    if (this.watching) return;
    this.watching = true;
    let idle = 0;
    let turns = 0;
    let last = this.probe.activity();
    const look = (): void => {
      turns += 1;
      const now = this.probe.activity();
      idle = now === last && !this.isBusy() ? idle + 1 : 0;
      last = now;
      if (idle >= IDLE_TURNS) {
        this.watching = false;
        rested();
      } else if (turns < SPIN_TURNS || idle > 0) this.turns.add(look);
      else originals.setTimeout(look, 1);
    };
    this.turns.add(look);
  }

  private isBusy(): boolean {
    return this.probe.busy() || this.resourcesBusy();
  }
}

/** All of the process, beyond what is there now. */
function processResources(): ResourcesBusy {
  const baseline = count(process.getActiveResourcesInfo());
  return () => {
    const seen = new Map<string, number>();
    for (const name of process.getActiveResourcesInfo()) {
      if (PASSIVE.has(name)) continue;
      const n = (seen.get(name) ?? 0) + 1;
      seen.set(name, n);
      if (n > (baseline.get(name) ?? 0)) return true;
    }
    return false;
  };
}

function count(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}
