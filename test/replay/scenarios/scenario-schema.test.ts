import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERRORS } from '../../../instrumentation/schema/errors';
import { assertionKinds } from '../../../replay/scenarios/assertions';
import { scenarioSchema } from '../../../replay/scenarios/scenario-schema';

const page = (name: string): string => readFileSync(join(__dirname, '../../../docs/reference', name), 'utf8');

test('the published schema is the one that is applied', () => {
  expect(JSON.parse(page('scenario.schema.json'))).toEqual(scenarioSchema);
});

test('every kind of assertion is described', () => {
  for (const { type } of assertionKinds) expect(page('assertions.md')).toContain(`\`${type}\``);
});

test('every error code is described, and no other', () => {
  const described = [...page('errors.md').matchAll(/^\| `([A-Z_]+)`/gm)].map((match) => match[1]);
  expect(described.sort()).toEqual(Object.keys(ERRORS).sort());
});
