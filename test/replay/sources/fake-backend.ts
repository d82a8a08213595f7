import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { OtlpRequest, OtlpSpan, OtlpValue } from '../../../exporter/otlp';
import { createEncoderState, encodeRecord } from '../../../exporter/span-encoder';
import { SampleRun, user } from '../log/sample-run';

export type Answering = (url: URL, request: IncomingMessage, response: ServerResponse) => void;

const open: Server[] = [];

/** Starts a server that answers as the test says, and gives its address. */
export async function startBackend(answer: Answering): Promise<string> {
  const server = createServer((request, response) =>
    answer(new URL(request.url ?? '/', 'http://x'), request, response),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  open.push(server);
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export function stopBackends(): void {
  for (const server of open.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
}

/** A conversation of four turns with payloads of several chunks, of which some end within a code point. */
export function conversation(runId: string): SampleRun {
  const run = new SampleRun(runId);
  run.session('s1', 'start', { agentVersion: 'v1' });
  for (let turn = 0; turn < 4; turn++) {
    run.chat([user('é'.repeat(1500)), user(`turn ${turn} 🙂`)], 'ok', { sessionId: 's1' });
    run.tool('t', { turn }, 'r'.repeat(5000), { sessionId: 's1' });
  }
  run.session('s1', 'end', { agentVersion: 'v1', outcome: 'resolved' });
  run.exit();
  return run;
}

export function spansOf(run: SampleRun): OtlpSpan[] {
  const state = createEncoderState();
  return run.records().map((record) => encodeRecord(record, state));
}

export const requestOf = (spans: OtlpSpan[]): OtlpRequest => ({
  resourceSpans: [
    {
      resource: { attributes: [{ key: 'service.name', value: { stringValue: 'agent' } }] },
      scopeSpans: [{ scope: { name: 'reenact' }, spans }],
    },
  ],
});

/** What a default Tempo does to a value: strings are cut at 2,048 bytes, what is inside arrays is not. */
export function tempoCut(value: OtlpValue): OtlpValue {
  if (value.stringValue === undefined) return value;
  return { stringValue: Buffer.from(value.stringValue).subarray(0, 2048).toString('utf8') };
}

/** The text of an attribute, for the filters of the fakes. */
export const textOf = (span: OtlpSpan, key: string): string | undefined =>
  span.attributes.find((item) => item.key === key)?.value.stringValue;
