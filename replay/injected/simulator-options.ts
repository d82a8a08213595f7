import type { Overrides } from './call-overrides';

export interface ReplaySimulatorOptions {
  /**
   * For a request whose content differs from the recorded one. `fail` (default): it rejects; `recorded`: it gets the
   * recorded answer of its request id.
   */
  readonly onDivergence?: 'fail' | 'recorded';
  readonly toolOverrides?: Overrides;
  readonly llmOverrides?: Overrides;
}
