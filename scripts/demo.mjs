// The retention case from recording to regression test, by the commands a person would type.
// `npm run demo` shows the openai agent, `npm run demo -- anthropic` the other.
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const variant = process.argv[2] ?? 'openai';
if (!['openai', 'anthropic'].includes(variant)) {
  console.error(`unknown variant ${variant}; known: openai, anthropic`);
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), 'reenact-demo-'));
cpSync(join(root, 'examples', 'retention'), folder, { recursive: true });
mkdirSync(join(folder, 'node_modules'));
for (const name of ['openai', '@anthropic-ai'])
  symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name));
const agent = `agent-${variant}.mjs`;
const children = new Set();
process.on('exit', () => {
  for (const child of children) child.kill();
  rmSync(folder, { recursive: true, force: true });
});

const out = (text = '') => process.stdout.write(`${text}\n`);
const title = (text) => out(`\n\u2500\u2500 ${text} ${'\u2500'.repeat(Math.max(0, 74 - text.length))}`);

function fail(what, details = '') {
  out(`\nThe demo did not go as it should: ${what}\n${details}`);
  process.exit(1);
}

let port = 0;
function startProvider() {
  const env = { ...process.env, PORT: String(port), ...(process.env.SEED && { SEED: process.env.SEED }) };
  const child = spawn(process.execPath, ['provider.mjs'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
  children.add(child);
  return new Promise((resolve) =>
    child.stdout.once('data', (text) => {
      port = Number(text);
      resolve(child);
    }),
  );
}

function stopProvider(child) {
  children.delete(child);
  return new Promise((resolve) => child.once('exit', resolve).kill());
}

function environment(extra) {
  const base = `http://127.0.0.1:${port}`;
  return {
    ...process.env,
    OPENAI_BASE_URL: `${base}/v1`,
    ANTHROPIC_BASE_URL: base,
    OPENAI_API_KEY: 'sk-demo',
    ANTHROPIC_API_KEY: 'sk-ant-demo',
    REENACT_DIR: join(folder, '.reenact'),
    NO_COLOR: '1',
    ...extra,
  };
}

/** Runs one command of ours; prints it as a person would type it. */
function reenact(args, { quiet = false, env = {} } = {}) {
  const shown = args.map((arg) => (/["#<> ]/.test(arg) ? `'${arg}'` : arg)).join(' ');
  const set = Object.entries(env).map(([name, value]) => `${name}=${value} `);
  if (!quiet) out(`$ ${set.join('')}npx reenact ${shown}`);
  const bin = join(root, 'bin', 'reenact.js');
  return spawnSync(process.execPath, [bin, ...args], { cwd: folder, env: environment(env), encoding: 'utf8' });
}

const summaryOf = (result) => result.stderr.trimEnd().split('\n').at(-1);
const agentSays = (result) => result.stdout.trimEnd().split('\n').at(-1);
const toolsOf = (log) => log.turns.filter((turn) => turn.type === 'tool_call').map((turn) => turn.request.name);

async function recordUntilOneFails() {
  title('1. Record: the agent runs as it is, until one conversation goes wrong');
  const provider = await startProvider();
  for (let n = 1; n <= 200; n++) {
    const session = `call-${n}`;
    const result = reenact(['record', '--session', session, '--', 'node', agent], { quiet: n > 1 });
    if (result.status !== 0) fail('a recording failed', result.stderr);
    const log = JSON.parse(reenact(['show', session, '--json'], { quiet: true }).stdout);
    const failed = toolsOf(log).includes('offer_loyalty_discount');
    out(`  ${session.padEnd(9)} ${failed ? 'WRONG' : 'ok   '} ${agentSays(result)}`);
    if (!failed) continue;
    await stopProvider(provider);
    return { session, output: result.stdout };
  }
  return fail('no conversation went wrong');
}

function look(session) {
  title('2. Look: what happened in that conversation');
  out(reenact(['show', session]).stdout.trimEnd());
  out('\n  The line is degraded, yet the agent sells a discount. Which input decided it?');
}

function replayExactly({ session, output }) {
  title('3. Replay: the same run again, with the provider switched off');
  const result = reenact(['replay', session, '--', 'node', agent]);
  out(`  ${agentSays(result)}`);
  out(`  ${summaryOf(result)}`);
  if (result.status !== 0 || result.stdout !== output) fail('the replay is not exact', result.stderr);
  out('  Every byte as recorded: the discount code and the date of that moment too.');
}

async function testHypotheses(session) {
  title('4. Change one value: two hypotheses, provider up again for what is new');
  const provider = await startProvider();
  const at = variant === 'openai' ? 'choices/0/message/content' : 'content/0/text';
  const hypotheses = [
    { name: 'the coverage result decided it', set: 'tool:check_coverage#1/status="acceptable"' },
    { name: "the model's classification decided it", set: `llm#2/${at}="Classification: COVERAGE."` },
  ];
  const changed = [];
  for (const { name, set } of hypotheses) {
    const result = reenact(['replay', session, '--set', set, '--on-divergence', 'live-from-here', '--', 'node', agent]);
    if (result.status !== 0) fail('a what-if failed', result.stderr);
    const flagged = /Review REV-/.test(result.stdout);
    out(`  ${agentSays(result)}`);
    out(`  ${flagged ? 'CHANGES' : 'does not change'} the outcome: ${name}\n`);
    if (flagged) changed.push(name);
  }
  if (changed.length !== 1 || changed[0] !== hypotheses[1].name) fail('another hypothesis was expected to hold');
  out(`  So ${changed[0]}: the wording of the prompt lets it.`);
  return provider;
}

function keep(session) {
  title('5. Keep it: a regression test for every commit');
  const assertion = 'calls:flag_coverage_review<offer_loyalty_discount';
  const options = ['--name', 'retention', '--assert', assertion, '--on-divergence', 'live', '-o', 'tests'];
  const made = reenact(['promote', session, ...options, '--', 'node', agent]);
  if (made.status !== 0) fail('promote failed', made.stderr);
  out(made.stdout.trimEnd());
  for (const [version, expected] of [
    ['v1', 1],
    ['v2', 0],
  ]) {
    out();
    const result = reenact(['test', 'tests'], { env: { PROMPT_VERSION: version } });
    out(result.stdout.trimEnd());
    if (result.status !== expected)
      fail(`the test should ${expected === 0 ? 'pass' : 'fail'} on prompt ${version}`, result.stderr);
  }
  out('\n  Red on the faulty prompt, green on the mended one.');
}

const started = Date.now();
const conversation = await recordUntilOneFails();
look(conversation.session);
replayExactly(conversation);
const provider = await testHypotheses(conversation.session);
keep(conversation.session);
await stopProvider(provider);
title(`Done in ${Math.round((Date.now() - started) / 1000)} s`);
out('Your own agent: npx reenact record -- node your-agent.js');
out('Guides: docs/README.md');
