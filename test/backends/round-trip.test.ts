import { createHash } from 'node:crypto';
import { readRun } from '../../exporter/local-store';
import { sha256 } from '../../exporter/payload-codec';
import { createSink } from '../../exporter/sink';
import { readConfig } from '../../instrumentation/config';
import type { Recording } from '../../instrumentation/schema/records';
import { buildLogs } from '../../replay/log/build-log';
import { jaegerSource } from '../../replay/sources/jaeger';
import { SampleRun, user } from '../replay/log/sample-run';
import { emptyStore } from '../replay/sources/store-samples';
import { builtPrograms, configOf, emptyFolder, freePort, start, stopPrograms } from './programs';

const { jaeger, otelcol } = builtPrograms();
const withBackends = jaeger === undefined || otelcol === undefined ? describe.skip : describe;

/** The samples are from the beginning of 2026. */
const long = { lookbackMs: Date.now() - Date.UTC(2026, 0, 1) };

const text = (seed: string, length: number): string =>
  createHash('shake256', { outputLength: Math.ceil((length * 3) / 4) })
    .update(seed)
    .digest('base64')
    .slice(0, length);

/** Sixty turns of 80 KB, a payload of 5 MB at the thirtieth, each request with all earlier messages. */
function longConversation(): SampleRun {
  const run = new SampleRun('run-long');
  const messages: ReturnType<typeof user>[] = [];
  run.session('long', 'start', { agentVersion: 'v1' });
  for (let turn = 1; turn <= 60; turn++) {
    messages.push(user(text(`turn ${turn}`, turn === 30 ? 5_000_000 : 80_000)));
    run.chat([...messages], 'ok', { sessionId: 'long' });
    run.tool('look_up', { turn }, `naïve 🙂 ${turn}`, { sessionId: 'long' });
  }
  run.session('long', 'end', { agentVersion: 'v1', outcome: 'escalated' });
  run.exit();
  return run;
}

/** Equality of what may be hundreds of megabytes, without printing it. */
const digest = (recording: Recording | undefined): string[] =>
  (recording === undefined ? [] : buildLogs(recording)).flatMap((log) => [
    `${log.sessionId} ${log.outcome} ${log.gaps?.length}`,
    ...log.turns.map((turn) => createHash('sha256').update(JSON.stringify(turn)).digest('hex')),
  ]);

withBackends('through agent, gateway and Jaeger (needs node scripts/backends.mjs)', () => {
  let query = '';
  let agent = '';

  beforeAll(async () => {
    const ports = await Promise.all([freePort(), freePort(), freePort(), freePort(), freePort()]);
    const [queryPort, grpc, storage, gatewayPort, agentPort] = ports.map((port) => `127.0.0.1:${port}`) as [
      string,
      string,
      string,
      string,
      string,
    ];
    query = `http://${queryPort}`;
    agent = `http://${agentPort}`;
    const jaegerEnv = { JAEGER_QUERY_ENDPOINT: queryPort, JAEGER_GRPC_ENDPOINT: grpc, JAEGER_OTLP_LISTEN: storage };
    const env = { ...jaegerEnv, JAEGER_DATA: emptyFolder() };
    await start(jaeger!, configOf('jaeger.yaml'), { env, answers: `${query}/api/v3/services` });
    const gateway = { OTLP_HTTP_ENDPOINT: gatewayPort, JAEGER_OTLP_ENDPOINT: `http://${storage}`, DECISION_WAIT: '3s' };
    const answers = `http://${gatewayPort}/v1/traces`;
    await start(otelcol!, configOf('gateway.yaml'), { env: { ...gateway, QUEUE_DIR: emptyFolder() }, answers });
    const first = {
      OTLP_HTTP_ENDPOINT: agentPort,
      GATEWAY_ENDPOINT: `http://${gatewayPort}`,
      QUEUE_DIR: emptyFolder(),
    };
    await start(otelcol!, configOf('agent.yaml'), { env: first, answers: `${agent}/v1/traces` });
  }, 60_000);

  afterAll(stopPrograms, 30_000);

  /** Records into a new store and sends it to the agent, as a recorded process does. */
  async function record(run: SampleRun): Promise<string> {
    const store = emptyStore();
    const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: agent, OTEL_SERVICE_NAME: 'agent', REENACT_DIR: store };
    const failures: string[] = [];
    const sink = createSink(readConfig(settings, '/'), {
      diagnostics: { failed: (place, error) => void failures.push(`${place}: ${String(error)}`) },
    });
    // The ids of the samples end in zeros, which no sampler takes for random.
    for (const item of run.records()) sink.write({ ...item, traceId: sha256(item.traceId).slice(0, 32) });
    await sink.flush(60_000);
    sink.close();
    expect(failures).toEqual([]);
    return store;
  }

  test('sixty turns of 80 KB with a payload of 5 MB come back as the local store has them', async () => {
    const store = await record(longConversation());
    const [pulled] = await jaegerSource(query, { ...long, deadlineMs: 60_000, settleMs: 15_000 }).fetch('long');
    const local = await readRun(store, 'run-long');
    expect(digest(pulled)).toEqual(digest(local));
    expect([pulled?.calls.length, pulled?.gaps]).toEqual([120, []]);
  }, 180_000);

  test('of many conversations those that failed are kept, whole', async () => {
    const run = new SampleRun('run-many');
    const failed = ['f-1', 'f-2', 'f-3'];
    const healthy = Array.from({ length: 30 }, (_, i) => `h-${i}`);
    for (const sessionId of [...healthy, ...failed]) {
      run.session(sessionId, 'start', {});
      const messages = [1, 2, 3].map((turn) => user(`${sessionId} ${turn} ${text(sessionId, 3000)}`));
      messages.forEach((_, i) => run.chat(messages.slice(0, i + 1), 'ok', { sessionId }));
      run.session(sessionId, 'end', failed.includes(sessionId) ? { failure: 'no refund' } : { outcome: 'resolved' });
    }
    run.exit();
    const store = await record(run);
    const local = buildLogs(await readRun(store, 'run-many'));
    const source = jaegerSource(query, { ...long, deadlineMs: 20_000, settleMs: 8_000 });
    const kept = (await source.fetch('run-many')).flatMap((found) => buildLogs(found));
    const turns = (logs: typeof local, id: string) => logs.find((log) => log.sessionId === id)?.turns;
    for (const id of failed) expect(turns(kept, id)).toEqual(turns(local, id));
    // One in twenty of the others, by their trace ids.
    expect(kept.filter((log) => healthy.includes(log.sessionId)).length).toBeLessThan(10);
  }, 120_000);
});
