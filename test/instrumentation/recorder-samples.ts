import { IdSource } from '../../instrumentation/ids';
import { Diagnostics } from '../../instrumentation/diagnostics';
import { Recorder } from '../../instrumentation/recorder';
import type { RecorderOptions } from '../../instrumentation/recorder-options';
import type { AnyRecord, CallRecord, SessionRecord } from '../../instrumentation/schema/records';

/** A recorder whose records stay in a list, and whose clock the test moves. */
export function recorderWith(over: Partial<RecorderOptions> = {}) {
  const records: AnyRecord[] = [];
  const time = { now: 1_000 };
  const diagnostics = new Diagnostics(false);
  const recorder = new Recorder({
    runId: 'run-1',
    processPath: '0',
    defaultSessionId: 'run-1',
    clock: { now: () => time.now },
    ids: new IdSource(),
    sink: {
      write: (record) => void records.push(record),
      flushSync: () => undefined,
      flush: () => Promise.resolve(),
    },
    diagnostics,
    facts: { pid: 1, startMs: 900, argv: [], execArgv: [], cwd: '/', nodeVersion: 'v20', platform: 'x', env: {} },
    filter: { records: () => true },
    redact: (record) => record,
    describe: (record) => record,
    ...over,
  });
  const calls = (): CallRecord[] =>
    records.filter((record): record is CallRecord => !['session', 'process', 'exit'].includes(record.kind));
  const sessions = (): SessionRecord[] =>
    records.filter((record): record is SessionRecord => record.kind === 'session');
  return { recorder, records, calls, sessions, time, diagnostics };
}
