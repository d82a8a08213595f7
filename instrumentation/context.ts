import { AsyncLocalStorage } from 'node:async_hooks';
import { Prng } from './prng';

/** How far a conversation has come. */
export interface SessionProgress {
  /** Seq of the last event that reached it: where a clock read stands. */
  lastSeq: number;
}

/** A conversation while it runs. The process itself is one, for everything outside `session()`. */
export interface SessionContext {
  readonly id: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly scope: string;
  readonly agentId?: string;
  readonly agentVersion?: string;
  readonly promptVersion?: string;
  readonly startMs: number;
  readonly parentSpanId?: string;
  /** Shared by all that run under this id, at a time or one after another. */
  readonly progress: SessionProgress;
  started: boolean;
  ended: boolean;
  outcome?: 'resolved' | 'escalated' | 'abandoned';
  failure?: string;
  metadata?: Record<string, unknown>;
}

/** Where code runs: a session, or a tool inside one. Streams of randomness, timers and ordinals belong to it. */
export interface Scope {
  readonly path: string;
  readonly session: SessionContext;
  /** Parent of the calls made here. */
  readonly spanId: string;
  readonly traceId: string;
  readonly agentId?: string;
  readonly ordinals: Map<string, number>;
  random?: Prng;
}

export function makeScope(fields: Omit<Scope, 'ordinals'>): Scope {
  return { ...fields, ordinals: new Map() };
}

/** Names counted per scope. A server that opens a session per customer must not grow for ever: the oldest go first. */
const MAX_NAMES = 20_000;

/** The next number, from 0, of a thing of this name within the scope. */
export function nextOrdinal(scope: Scope, name: string): number {
  const n = scope.ordinals.get(name) ?? 0;
  scope.ordinals.set(name, n + 1);
  if (scope.ordinals.size > MAX_NAMES) scope.ordinals.delete(scope.ordinals.keys().next().value ?? '');
  return n;
}

/** Carries the scope through asynchronous code. `'untracked'`: our own work, invisible to every tap. */
export class ScopeStorage {
  private readonly storage = new AsyncLocalStorage<Scope | 'untracked'>();
  private readonly root: Scope;
  private readonly outside: Scope | 'untracked';
  /** Synchronous work of ours under way. */
  private unseenWork = 0;

  /** @param isolated only what runs in a scope is ours: everything else of the process counts as untracked. */
  constructor(root: Scope, isolated = false) {
    this.root = root;
    this.outside = isolated ? 'untracked' : root;
  }

  current(): Scope {
    const store = this.storage.getStore();
    return store === undefined || store === 'untracked' ? this.root : store;
  }

  isUntracked(): boolean {
    return this.unseenWork > 0 || (this.storage.getStore() ?? this.outside) === 'untracked';
  }

  run<T>(scope: Scope, fn: () => T): T {
    return this.storage.run(scope, fn);
  }

  untracked<T>(fn: () => T): T {
    return this.storage.run('untracked', fn);
  }

  /**
   * Hides what `fn` does before it returns. For our own work: an asynchronous context, once there is one, makes every
   * promise of the program dearer on Node 20 and 22.
   */
  unseen<T>(fn: () => T): T {
    this.unseenWork += 1;
    try {
      return fn();
    } finally {
      this.unseenWork -= 1;
    }
  }
}
