import { providers } from '../../../instrumentation/providers/registry';
import { providerFixtures } from '../../conformance/provider-fixtures';
import { providerConformance } from '../../conformance/provider.case';

describe('the registry of providers', () => {
  it('has one fixture for each entry', () => {
    expect(providerFixtures.map((fixture) => fixture.id).sort()).toEqual(
      providers.map(({ id }) => id as string).sort(),
    );
  });
});

for (const provider of providers) {
  const fixture = providerFixtures.find(({ id }) => id === provider.id);
  if (fixture) describe(provider.id, () => providerConformance(provider, fixture));
}
