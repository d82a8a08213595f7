import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { ExecutionLog } from '../../../instrumentation/schema/execution-log';
import { execute } from '../../../replay/cli/main';

const folder = mkdtempSync(join(tmpdir(), 'reenact-bad-input-'));
const path = (name: string): string => join(folder, name);
const write = (name: string, content: string | Buffer): string => {
  writeFileSync(path(name), content);
  return path(name);
};
const log: ExecutionLog = {
  sessionId: 's-1',
  agentVersion: '',
  promptVersion: '',
  startedAt: '2026-01-01T00:00:00.000Z',
  turns: [
    {
      turnId: 't1',
      timestamp: '2026-01-01T00:00:00.000Z',
      type: 'tool_call',
      request: { name: 'get_order', args: { id: 7 } },
      response: { result: 'lost' },
      durationMs: 1,
    },
  ],
};
const text = `${JSON.stringify(log)}\n`;
const good = write('good.jsonl', text);
const store = process.env['REENACT_DIR'];

beforeAll(() => {
  process.env['REENACT_DIR'] = path('store');
});
afterAll(() => {
  if (store === undefined) delete process.env['REENACT_DIR'];
  else process.env['REENACT_DIR'] = store;
});

async function run(args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const code = await execute(args, { stdout, stderr });
  const read = (stream: PassThrough): string => (stream.read() as Buffer | null)?.toString() ?? '';
  return { code, out: read(stdout), err: read(stderr) };
}

const program = ['--', process.execPath, '-e', ''];
const cases: [name: string, code: string, args: string[]][] = [
  ['no arguments', 'USAGE', []],
  ['an unknown command', 'UNKNOWN_COMMAND', ['frobnicate']],
  ['help on an unknown command', 'UNKNOWN_COMMAND', ['help', 'frobnicate']],
  ['a program without dashes before it', 'USAGE', ['record', 'node', 'agent.js']],
  ['the last run of an empty store', 'REF_NOT_FOUND', ['show', 'last']],
  ['an unknown option', 'UNKNOWN_OPTION', ['replay', good, '--no-such-flag', ...program]],
  ['an unknown policy', 'UNKNOWN_POLICY', ['replay', good, '--on-divergence', 'maybe', ...program]],
  ['an unknown source', 'UNKNOWN_SOURCE', ['list', '--from', 'nowhere=1']],
  ['a backend that is down', 'SOURCE_UNREACHABLE', ['list', '--from', 'jaeger=http://127.0.0.1:9']],
  ['a log from a file without a command', 'COMMAND_MISSING', ['replay', good]],
  ['a missing file', 'FILE_NOT_FOUND', ['replay', path('none.jsonl'), ...program]],
  ['an empty file', 'LOG_EMPTY', ['replay', write('empty.jsonl', ''), ...program]],
  ['cut JSON', 'LOG_INVALID', ['replay', write('cut.jsonl', text.slice(0, 60)), ...program]],
  ['another JSON object', 'LOG_INVALID', ['replay', write('x.jsonl', '{"a":1}\n'), ...program]],
  ['an array', 'LOG_INVALID', ['replay', write('array.jsonl', '[]\n'), ...program]],
  ['binary', 'LOG_INVALID', ['replay', write('binary.jsonl', Buffer.from([0, 255, 1, 254])), ...program]],
  [
    'a log without turns',
    'LOG_HAS_NO_CALLS',
    ['replay', write('no-turns.jsonl', `${JSON.stringify({ ...log, turns: [] })}\n`), ...program],
  ],
  [
    'a log with __proto__ and turns that are no list',
    'LOG_INVALID',
    ['show', write('proto.jsonl', '{"__proto__":{"x":1},"sessionId":"__proto__","turns":"no"}\n')],
  ],
  ['a session that is not there', 'REF_NOT_FOUND', ['show', 'no-such-session']],
  ['a --set without value', 'SET_INVALID', ['replay', good, '--set', 'x', ...program]],
  ['a --set of no such turn', 'TURN_NOT_FOUND', ['replay', good, '--set', 'tool:nothing#1={}', ...program]],
  ['a --set that is not JSON', 'SET_INVALID', ['replay', good, '--set', '1={', ...program]],
  ['a turn out of range', 'TURN_NOT_FOUND', ['show', good, '--turn', '999']],
  ['a turn that is no number', 'TURN_NOT_FOUND', ['show', good, '--turn', 'x']],
  ['record without a command', 'COMMAND_MISSING', ['record']],
  ['record with an empty command', 'COMMAND_MISSING', ['record', '--']],
  ['record of a missing program', 'COMMAND_NOT_FOUND', ['record', '--', './no-such-program']],
  ['an output of no known format', 'UNKNOWN_FORMAT', ['convert', good, path('x.unknown')]],
  ['converting over a file', 'FILE_EXISTS', ['convert', good, write('there.md', 'mine')]],
  ['pulling over a folder', 'FILE_EXISTS', ['pull', good, '-o', folder]],
  ['pulling over another file', 'FILE_EXISTS', ['pull', good, '-o', path('there.md')]],
  ['diff of one log', 'USAGE', ['diff', good]],
  ['show of two references', 'USAGE', ['show', good, good]],
  ['verify of no run', 'USAGE', ['verify', good, '--runs', '0', ...program]],
  ['--live of nothing known', 'USAGE', ['replay', good, '--live', 'all', ...program]],
  ['--live tools with a log from elsewhere', 'COMMAND_NOT_TRUSTED', ['replay', good, '--live', 'tools', ...program]],
  ['promote without an assertion', 'ASSERTION_INVALID', ['promote', good, '-o', folder, ...program]],
  [
    'promote with a wrong assertion',
    'ASSERTION_INVALID',
    ['promote', good, '--assert', 'nonsense', '-o', folder, ...program],
  ],
  [
    'promote for an unknown runner',
    'USAGE',
    ['promote', good, '--assert', 'exit:0', '--runner', 'mocha', '-o', folder, ...program],
  ],
  ['test of a missing folder', 'FILE_NOT_FOUND', ['test', path('nowhere')]],
  ['test of no scenario', 'NOTHING_COMPARED', ['test', mkdtempSync(join(folder, 'empty-'))]],
  ['a shard that is none', 'USAGE', ['test', scenario(), '--shard', '3/2']],
  ['a command of a later version', 'USAGE', ['mine', '--from', 'local']],
];

function scenario(): string {
  return write('a.reenact.json', '{}');
}

test.each(cases)('%s is refused with %s', async (_name, code, args) => {
  const { code: exit, out, err } = await run(args);
  expect(exit).toBe(2);
  expect(err).toMatch(new RegExp(`^reenact: ${code} .+\\n.+\\n$`));
  expect(out + err).not.toMatch(/\n\s+at /);
});

test.each(cases)('%s gives one error document with --json (%s)', async (_name, code, args) => {
  const { code: exit, out } = await run([...args.slice(0, 1), '--json', ...args.slice(1)]);
  expect(exit).toBe(2);
  if (args.length > 0) expect(JSON.parse(out)).toEqual({ error: expect.objectContaining({ code }) as unknown });
});

test('no file was written over', () => {
  expect(readFileSync(good, 'utf8')).toBe(text);
  expect(readFileSync(path('there.md'), 'utf8')).toBe('mine');
});

test('a file that is pulled again into itself is brought up to date', async () => {
  const target = path('again.jsonl');
  expect((await run(['pull', good, '-o', target])).code).toBe(0);
  expect((await run(['pull', good, '-o', target])).code).toBe(0);
});

test.each([
  [['record', 'node', 'agent.js'], 'reenact COMMAND … -- node agent.js'],
  [['show', 'last'], 'reenact record -- CMD'],
  [['convert', good, good], '--force'],
  [['pull', good, '-o', path('nowhere/x.jsonl')], `the folder ${path('nowhere')} does not exist`],
  [['show', write('two.jsonl', text + text.replace('s-1', 's-2'))], 'two.jsonl#s-1'],
  [['replay', good, '--from-turn', '9', ...program], '--from-turn 9: the recording has 1 turn'],
])('%j tells what to type', async (args, hint) => {
  expect((await run(args)).err).toContain(hint);
});

test('commands that are not there yet are not offered', async () => {
  expect((await run(['--help'])).out).not.toMatch(/^ +(mine|serve)\b/m);
});

test('good input is accepted', async () => {
  expect((await run(['show', good])).out).toContain('get_order');
  expect(JSON.parse((await run(['show', good, '--json'])).out)).toMatchObject({ sessionId: 's-1' });
  expect((await run(['show', good, '--turn', '1'])).code).toBe(0);
  expect((await run(['diff', good, good])).code).toBe(0);
  expect((await run(['list'])).code).toBe(0);
  expect((await run(['--help'])).out).toContain('replay');
  expect((await run(['replay', '--help'])).out).toContain('--on-divergence');
});

test.each(['out.events.jsonl', 'out.md', 'out.html', 'out.log.jsonl', 'out.jsonl.gz'])(
  'a log becomes %s',
  async (name) => {
    const { code, out } = await run(['convert', '--json', good, path(name)]);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({ in: good, out: path(name), logs: 1 });
  },
);

test('--report writes the document and leaves stdout as it is', async () => {
  const plain = await run(['diff', good, good]);
  const reported = await run(['diff', good, good, '--report', path('report.json')]);
  expect(reported.out).toBe(plain.out);
  expect(JSON.parse(readFileSync(path('report.json'), 'utf8'))).toMatchObject({ equal: true });
});

test('a promoted scenario holds what it was promoted with', async () => {
  const args = ['--assert', 'calls:get_order', '--set', 'tool:get_order#1="sent"', '--on-divergence', 'recorded'];
  const { code, out } = await run([
    'promote',
    '--json',
    good,
    '--name',
    'kept',
    ...args,
    '-o',
    path('kept'),
    ...program,
  ]);
  expect(code).toBe(0);
  expect(JSON.parse(out)).toEqual({ files: [path('kept/kept.reenact.json'), path('kept/kept.log.jsonl')] });
  expect(JSON.parse(readFileSync(path('kept/kept.reenact.json'), 'utf8'))).toEqual({
    version: '1',
    name: 'kept',
    log: 'kept.log.jsonl',
    command: ['node', '-e', ''],
    toolOverrides: { 'tool:get_order#1': 'sent' },
    onDivergence: 'recorded',
    assertions: [{ type: 'tool_call_present', toolName: 'get_order' }],
  });
});
