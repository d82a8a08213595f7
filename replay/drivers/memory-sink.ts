import { FORMAT_VERSION } from '../../instrumentation/schema/version';
import type {
  AnyRecord,
  CallRecord,
  ProcessExitRecord,
  ProcessRecord,
  Recording,
  RecordSink,
  SessionRecord,
} from '../../instrumentation/schema/records';

/** Keeps the records of a replay that nobody stores. */
export class MemorySink implements RecordSink {
  private readonly records: AnyRecord[] = [];

  write(record: AnyRecord): void {
    this.records.push(record);
  }

  flushSync(): void {
    // There is no file.
  }

  flush(): Promise<void> {
    return Promise.resolve();
  }

  /** What was written, as a reader of spans would give it. */
  recording(runId: string): Recording {
    const processes: ProcessRecord[] = [];
    const exits: ProcessExitRecord[] = [];
    const sessions: SessionRecord[] = [];
    const calls: CallRecord[] = [];
    for (const record of this.records) {
      if (record.kind === 'process') processes.push(record);
      else if (record.kind === 'exit') exits.push(record);
      else if (record.kind === 'session') sessions.push(record);
      else calls.push(record);
    }
    return {
      formatVersion: FORMAT_VERSION,
      runId,
      processes,
      exits,
      sessions,
      calls: calls.sort((a, b) => a.seqStart - b.seqStart),
      ambient: this.records.flatMap((record) => {
        if (!('ambient' in record) || record.ambient === undefined) return [];
        const { processPath, ambient: lines } = record;
        return [{ processPath, sessionId: 'sessionId' in record ? record.sessionId : '', lines }];
      }),
      gaps: [],
    };
  }
}
