import type {
  CallRecord,
  ProcessExitRecord,
  ProcessRecord,
  Recording,
  SessionRecord,
} from '../../instrumentation/schema/records';

/** What of a run belongs to one session: its calls and the prelude of its processes. */
export interface SessionPart {
  readonly sessionId: string;
  readonly processes: readonly ProcessRecord[];
  readonly exits: readonly ProcessExitRecord[];
  readonly sessions: readonly SessionRecord[];
  /** The prelude's calls among them have the session id `''`. */
  readonly calls: readonly CallRecord[];
  /** With their position in the run, by which several sessions are put together again. */
  readonly ambient: readonly { at: number; processPath: string; sessionId: string; lines: readonly string[] }[];
}

/**
 * Ids of the sessions of a run that have calls, in the order in which they began. What a program with sessions of its
 * own does outside them (start-up: tokens, flags, settings) is their prelude, and a log of its own only when it talks
 * to a model or calls tools.
 */
export function sessionIds(recording: Recording): string[] {
  const first = new Map<string, number>();
  const withTurns = new Set<string>();
  for (const call of recording.calls) {
    if (call.sessionId === '' || call.kind === 'decision') continue;
    first.set(call.sessionId, Math.min(call.startMs, first.get(call.sessionId) ?? Infinity));
    if (call.kind === 'llm' || call.kind === 'tool') withTurns.add(call.sessionId);
  }
  for (const session of recording.sessions) {
    const before = first.get(session.sessionId);
    if (before !== undefined && session.startMs < before) first.set(session.sessionId, session.startMs);
  }
  const defaults = defaultSessions(recording);
  const hasNamed = [...first.keys()].some((id) => !defaults.has(id));
  return [...first]
    .filter(([id]) => !hasNamed || !defaults.has(id) || withTurns.has(id))
    .sort((a, b) => a[1] - b[1])
    .map(([id]) => id);
}

function defaultSessions(recording: Recording): Set<string> {
  return new Set(recording.processes.map((process) => process.defaultSessionId));
}

/** Cuts one session out of a run. */
export function sessionPart(recording: Recording, sessionId: string): SessionPart {
  const defaults = defaultSessions(recording);
  const preludes = new Set(defaults.has(sessionId) ? [''] : ['', ...defaults]);
  const paths = pathsOf(recording, sessionId, preludes);
  const own = recording.sessions.filter((session) => session.sessionId === sessionId);
  const isForeign = foreignScope(recording, own);
  const belongs = (record: { sessionId: string; processPath: string }): boolean =>
    record.sessionId === sessionId || (preludes.has(record.sessionId) && paths.has(record.processPath));
  return {
    sessionId,
    processes: recording.processes.filter((process) => paths.has(process.processPath)),
    exits: recording.exits.filter((exit) => paths.has(exit.processPath)),
    sessions: recording.sessions.filter(belongs),
    calls: recording.calls.filter(belongs),
    ambient: recording.ambient.flatMap((piece, at) => {
      if (!paths.has(piece.processPath)) return [];
      const lines = piece.lines.filter((line) => !isForeign(line));
      return lines.length === 0 ? [] : [{ ...piece, at, lines }];
    }),
  };
}

/**
 * Processes in which the session ran, those above them, and those below them in which no other session ran (helpers
 * that made calls of their own, or none).
 */
function pathsOf(recording: Recording, sessionId: string, preludes: ReadonlySet<string>): Set<string> {
  const own = new Set<string>();
  const others = new Set<string>();
  for (const { processPath, sessionId: owner } of [...recording.calls, ...recording.sessions]) {
    if (owner === sessionId) own.add(processPath);
    else if (!preludes.has(owner)) others.add(processPath);
  }
  const isUnder = (path: string, above: string): boolean => path === above || path.startsWith(`${above}.`);
  const paths = new Set(own);
  for (const { processPath } of recording.processes) {
    if ([...own].some((path) => isUnder(path, processPath))) paths.add(processPath);
    else if (!others.has(processPath) && [...own].some((path) => isUnder(processPath, path))) paths.add(processPath);
  }
  return paths;
}

/**
 * A line of the ambient log rides on the span of whichever call ended next, so its scope, not its carrier, says whose
 * it is.
 */
function foreignScope(recording: Recording, own: readonly SessionRecord[]): (line: string) => boolean {
  const ownScopes = new Set(own.map((session) => session.scope));
  const foreign = new Set<string>();
  for (const session of recording.sessions) {
    const encloses = [...ownScopes].some((scope) => isWithin(scope, session.scope));
    if (session.scope !== '' && !encloses) foreign.add(session.scope);
  }
  return (line) => {
    const scope = decodeScope(line.split('\t', 2)[1] ?? '');
    if (scope === '' || [...ownScopes].some((own) => own !== '' && isWithin(scope, own))) return false;
    for (let end = scope.length; end > 0; end = scope.lastIndexOf('/', end - 1)) {
      if (foreign.has(scope.slice(0, end))) return true;
    }
    return false;
  };
}

const isWithin = (scope: string, above: string): boolean => scope === above || scope.startsWith(`${above}/`);

function decodeScope(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A forged scope stays as it is written, as in the reader of the ambient log.
    return text;
  }
}
