/** Every error a person or a program can meet, by its stable code. docs/reference/errors.md lists the same codes. */
export const ERRORS = {
  // Input and usage
  USAGE: 'See `reenact --help` for the commands and their options.',
  UNKNOWN_COMMAND: 'See `reenact --help` for the commands.',
  UNKNOWN_OPTION: 'See `reenact COMMAND --help` for the options of a command.',
  UNKNOWN_POLICY: 'Use one of: fail, recorded, live, live-from-here, stop.',
  UNKNOWN_MODE: 'Set REENACT_MODE to record, replay or off.',
  UNKNOWN_SOURCE: 'Use local, otlp=FILE, jaeger=URL, tempo=URL or clickhouse=URL.',
  UNKNOWN_FORMAT: 'Name the output *.jsonl, *.events.jsonl, *.otlp.jsonl, *.md or *.html (.gz too).',
  COMMAND_MISSING: 'Give the command after `--`, for example: reenact record -- node agent.js',
  COMMAND_NOT_FOUND: 'Check the spelling of the command, or give its full path.',
  COMMAND_NOT_TRUSTED: 'A log from a file or a backend never chooses what is executed. Give the command after `--`.',
  FILE_NOT_FOUND: 'Check the path.',
  FILE_EXISTS: 'Choose another name, or overwrite it with --force.',
  FILE_NOT_WRITABLE: 'Check the folder and its permissions.',
  LOG_EMPTY: 'The file holds no execution log. Pull or record the conversation again.',
  LOG_INVALID: 'Each line must be one ExecutionLog in JSON; see docs/reference/execution-log.md.',
  LOG_VERSION_UNSUPPORTED: 'Use a version of reenact that reads this format.',
  LOG_TAMPERED:
    'The readable part no longer agrees with the recorded bytes. Pull the log again; to change a value use --set.',
  LOG_HAS_NO_CALLS: 'There is nothing to replay. Record a run in which the program makes a call.',
  PAYLOAD_DAMAGED: 'Bytes of the recording are missing or cut. Check the limits of the backend and pull again.',
  REF_NOT_FOUND: 'See `reenact list` for what is recorded here.',
  REF_AMBIGUOUS: 'Name one of the listed logs.',
  TURN_NOT_FOUND: 'See `reenact show REF` for the turns.',
  SET_INVALID: 'Use TURN=VALUE, for example --set tool:get_order#1/status=\'"lost"\' (VALUE is JSON or @FILE).',
  ASSERTION_INVALID: 'See docs/reference/assertions.md for the forms.',
  SOURCE_UNREACHABLE: 'Check the address, and that the backend is up.',
  SOURCE_REFUSED: 'Check the address and the version of the backend.',
  CONFIG_INVALID: 'See docs/reference/configuration.md for the fields of reenact.config.json.',
  EVENTS_INVALID: 'Each line must be one event { timestamp, request_id, agent_id, event_type, payload }.',
  STORE_UNREADABLE: 'Check REENACT_DIR and the permissions of the folder.',
  SCENARIO_INVALID: 'See docs/reference/scenarios.md for the fields.',
  NOTHING_COMPARED: 'Nothing matched, so nothing was compared. Check the paths and filters.',
  // Replay, seen by the program or in the report
  REPLAY_EXHAUSTED:
    'Every recording of this call has been used. The program makes the call more often than when it was recorded.',
  REPLAY_MISMATCH:
    'Another call was recorded here. See the divergence for the nearest recording and the differing path.',
  REPLAY_BLOCKED: 'A replay makes no live calls. Record the call, or allow it with --on-divergence live.',
  REPLAY_STUCK: 'The program waits for something that the recording does not hold. The report names the waiting calls.',
  REPLAY_PROGRAM_MISSING:
    'The program ended without loading the replay. Check that it runs on Node and keeps NODE_OPTIONS.',
  DECLARED_NOT_REACHED:
    'Wrap it with tool() or observe() of reenact instead of declaring it, or replay the program as { command: [...] }.',
  LIVE_CLIENT_MISSING: "onDivergence 'live' needs options.client.",
  INTERNAL: 'This is a fault of reenact. Run again with REENACT_DEBUG=1 and report it.',
} as const satisfies Record<string, string>;

export type ErrorCode = keyof typeof ERRORS;

const BRAND = Symbol.for('reenact.error');

/** An error with a stable code, a message that says what happened and a hint that says what to do. */
export class ReenactError extends Error {
  readonly code: ErrorCode;
  readonly hint: string;

  constructor(code: ErrorCode, message: string, options: { cause?: unknown; hint?: string } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ReenactError';
    this.code = code;
    this.hint = options.hint ?? ERRORS[code];
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** Works across two copies of the package in one process. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && BRAND in value;
  }
}
