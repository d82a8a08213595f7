import { readFileSync } from 'node:fs';
import { ReenactError } from '../../instrumentation/schema/errors';
import type { ExecutionLog } from '../../instrumentation/schema/execution-log';
import { DIVERGENCE_POLICIES } from './report';
import type { ReplayOptions } from './report';

const DEFAULTS: ReplayOptions = { overrides: [], onDivergence: 'fail', ignore: [], seedRun: '' };

/**
 * The logs and options that a replayed process was given by its parent.
 * @throws ReenactError LOG_INVALID, UNKNOWN_POLICY
 */
export function readReplayInput(env: Readonly<Record<string, string | undefined>>): {
  logs: ExecutionLog[];
  options: ReplayOptions;
} {
  const file = env['REENACT_REPLAY_FILE'];
  if (file === undefined)
    throw new ReenactError('REF_NOT_FOUND', 'REENACT_MODE is replay, but nothing says what to replay');
  const logs = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as ExecutionLog);
  if (logs.length === 0) throw new ReenactError('LOG_EMPTY', `${file} holds no log`);
  const given = JSON.parse(env['REENACT_REPLAY_OPTIONS'] ?? '{}') as Partial<ReplayOptions>;
  const options = { ...DEFAULTS, ...given };
  if (!DIVERGENCE_POLICIES.includes(options.onDivergence))
    throw new ReenactError('UNKNOWN_POLICY', `unknown policy ${String(options.onDivergence)}`);
  return { logs, options };
}
