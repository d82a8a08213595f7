/** Names of the span attributes of the recording format; docs/reference/recording-format.md describes each. */
export const ATTRIBUTES = {
  kind: 'reenact.kind',
  sessionId: 'reenact.session.id',
  agentId: 'reenact.agent.id',
  process: 'reenact.process',
  runId: 'reenact.run.id',
  seqStart: 'reenact.seq.start',
  seqEnd: 'reenact.seq.end',
  scope: 'reenact.scope',
  outcome: 'reenact.outcome',
  key: 'reenact.key',
  agentVersion: 'reenact.agent.version',
  promptVersion: 'reenact.prompt.version',
  replayOf: 'reenact.replay_of',
  /** Everything else about the record but its payloads: one JSON text in chunks. */
  record: 'reenact.record',
  /** Length and hash of the record text and of the attributes before it. */
  recordCheck: 'reenact.record.check',
  requestBody: 'reenact.request.body',
  responseBody: 'reenact.response.body',
  parity: 'reenact.parity',
  args: 'reenact.args',
  result: 'reenact.result',
  thrown: 'reenact.thrown',
  data: 'reenact.data',
  metadata: 'reenact.metadata',
  ambient: 'reenact.ambient',
} as const;

/** Among the attributes of a call: what of it could not be carried. Readers make a gap of it. */
export const GAP_ATTRIBUTE = 'reenact.gap';

/** Short names of the payload attributes inside the record text. */
export const PAYLOAD_CODES: Readonly<Record<string, string>> = {
  [ATTRIBUTES.requestBody]: 'q',
  [ATTRIBUTES.responseBody]: 'r',
  [ATTRIBUTES.args]: 'a',
  [ATTRIBUTES.result]: 'o',
  [ATTRIBUTES.thrown]: 'x',
  [ATTRIBUTES.data]: 'd',
  [ATTRIBUTES.metadata]: 'm',
  [ATTRIBUTES.ambient]: 'b',
  [ATTRIBUTES.parity]: 'y',
};

/** Longest value of a searchable attribute: Elasticsearch does not index more. */
export const MAX_SEARCHABLE = 256;

/** Most attributes of one span: OpenTelemetry SDKs and some backends drop those beyond 128. */
export const MAX_ATTRIBUTES = 120;
