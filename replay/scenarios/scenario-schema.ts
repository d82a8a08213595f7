import { DIVERGENCE_POLICIES } from '../player/report';

/** JSON Schema of a scenario file; docs/reference/scenario.schema.json is the same, published. */
export const scenarioSchema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'Reenact scenario',
  type: 'object',
  required: ['version', 'name', 'log', 'command', 'assertions'],
  additionalProperties: false,
  properties: {
    $schema: { type: 'string' },
    version: { const: '1', description: 'Version of the scenario format.' },
    name: { type: 'string', minLength: 1, description: 'Shown in results.' },
    log: { type: 'string', minLength: 1, description: 'Execution log (JSONL), relative to this file.' },
    command: {
      type: 'array',
      minItems: 1,
      items: { type: 'string' },
      description: 'Program and arguments, run without a shell; `node` stands for the running Node.',
    },
    cwd: {
      type: 'string',
      description: 'Working directory of the program, relative to this file; without it that of the test run.',
    },
    toolOverrides: {
      type: 'object',
      description: 'What tool calls answer instead: values by turn, named as `reenact replay --set` names it.',
    },
    llmOverrides: {
      type: 'object',
      description: 'What the model answers instead: text or response bodies by turn.',
    },
    onDivergence: { enum: [...DIVERGENCE_POLICIES], description: 'What a call gets that no recording answers.' },
    ignore: {
      type: 'array',
      items: { type: 'string', pattern: '^/' },
      description: 'JSON Pointers into request bodies that do not count when calls are matched.',
    },
    assertions: {
      type: 'array',
      minItems: 1,
      items: { type: 'object', required: ['type'], properties: { type: { type: 'string' } } },
      description: 'What must hold; see assertions.md.',
    },
    timeoutMs: { type: 'integer', minimum: 1, description: 'Longest time the program may take; 60000 without it.' },
  },
};
