// The retention case from recording to regression test, by the commands a person would type. `npm run demo` shows the
// agent on the openai SDK, `npm run demo -- anthropic` the other; `--keep` leaves the folder with the recordings.
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const WIDTH = 80;
const options = process.argv.slice(2);
const keepFolder = options.includes('--keep');
const [variant = 'openai', ...rest] = options.filter((option) => option !== '--keep');
if (!['openai', 'anthropic'].includes(variant) || rest.length > 0) {
  console.error('usage: npm run demo -- [openai|anthropic] [--keep]');
  process.exit(2);
}
const agent = `agent-${variant}.mjs`;
const folder = mkdtempSync(join(tmpdir(), 'reenact-demo-'));
const children = new Set();
process.on('SIGINT', () => process.exit(130));
process.on('SIGTERM', () => process.exit(143));
process.on('exit', () => {
  for (const child of children) child.kill();
  if (!keepFolder) rmSync(folder, { recursive: true, force: true });
});
cpSync(join(root, 'examples', 'retention'), folder, { recursive: true });
mkdirSync(join(folder, 'node_modules'));
for (const name of ['openai', '@anthropic-ai'])
  symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name), 'junction');

const out = (text = '') => process.stdout.write(`${text}\n`);
const title = (text) => out(`\n── ${text} ${'─'.repeat(Math.max(0, WIDTH - 4 - text.length))}`);

/** Words at the width of a terminal; `end` stands at the end of each line but the last. */
function fold(words, { indent = '  ', end = '' } = {}) {
  let line = '';
  for (const word of words) {
    if (line !== '' && indent.length + line.length + 1 + word.length + end.length > WIDTH) {
      out(indent + line + end);
      line = end === '' ? '' : ' ';
    }
    line += line === '' ? word : ` ${word}`;
  }
  out(indent + line);
}
const say = (text) => fold(text.split(' '));

function fail(what, details = '') {
  out(`\nThe demo did not go as it should: ${what}\n${details}`);
  process.exit(1);
}

let port = 0;
function startProvider() {
  const env = { ...process.env, PORT: String(port) };
  const child = spawn(process.execPath, ['provider.mjs'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
  children.add(child);
  return new Promise((resolve) => {
    child.once('exit', () => children.has(child) && fail('the provider of the example ended'));
    child.stdout.once('data', (text) => {
      port = Number(text);
      resolve(child);
    });
  });
}

function stopProvider(child) {
  children.delete(child);
  return new Promise((resolve) => child.once('exit', resolve).kill());
}

function environment(extra) {
  // Settings of the person's own shell would send the demo's spans to their backend, or change what is shown.
  const own = Object.entries(process.env).filter(([name]) => !/^(REENACT_|OTEL_|NODE_USE_ENV_PROXY)/.test(name));
  const base = `http://127.0.0.1:${port}`;
  return {
    ...Object.fromEntries(own),
    PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ''}`,
    OPENAI_BASE_URL: `${base}/v1`,
    ANTHROPIC_BASE_URL: base,
    OPENAI_API_KEY: 'sk-demo',
    ANTHROPIC_API_KEY: 'sk-ant-demo',
    NO_COLOR: '1',
    ...extra,
  };
}

/** Runs one command of ours; prints it as a person would type it. */
function reenact(args, { quiet = false, env = {} } = {}) {
  const set = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const shown = args.map((arg) => (/["#<> ]/.test(arg) ? `'${arg}'` : arg));
  // An option stays on one line with its value.
  const words = shown
    .join('\n')
    .replace(/^(--?\w[-\w]*)\n(?!-)/gm, '$1 ')
    .split('\n');
  if (!quiet) fold(['$', ...set, 'npx', 'reenact', ...words], { indent: '', end: ' \\' });
  const bin = join(root, 'bin', 'reenact.js');
  const settings = { cwd: folder, env: environment(env), encoding: 'utf8', timeout: 60_000 };
  return spawnSync(process.execPath, [bin, ...args], settings);
}

const outputOf = (result) => `${result.error?.message ?? ''}${result.stdout}${result.stderr}`;
const summaryOf = (result) => result.stderr.trimEnd().split('\n').at(-1);
const lastWords = (result) => result.stdout.trimEnd().split('\n').at(-1);

async function recordUntilOneFails() {
  title('1. Record: the agent as it is, until one conversation goes wrong');
  say('A customer has no signal at home and wants to leave. The agent must have the network looked at, not sell.');
  out();
  const provider = await startProvider();
  for (let n = 1; n <= 200; n++) {
    const session = `call-${n}`;
    const result = reenact(['record', '--session', session, '--', 'node', agent], { quiet: n > 1 });
    if (result.status !== 0) fail('a recording failed', outputOf(result));
    const isWrong = lastWords(result).includes('LOYAL-');
    out(`  ${session.padEnd(7)} ${isWrong ? 'WRONG' : 'ok   '}  ${lastWords(result).replace('agent: ', '')}`);
    if (!isWrong) continue;
    await stopProvider(provider);
    return { session, output: result.stdout };
  }
  return fail('no conversation went wrong');
}

function look(session) {
  title('2. Look: what happened in that conversation');
  const listed = reenact(['list']);
  if (listed.status !== 0 || !listed.stdout.includes(session)) fail('list does not show it', outputOf(listed));
  out(listed.stdout);
  const shown = reenact(['show', session]);
  if (shown.status !== 0 || !shown.stdout.includes('degraded')) fail('show does not tell it', outputOf(shown));
  out(shown.stdout.trimEnd());
  out();
  say('Coverage is degraded, yet the agent sells a discount. Which value decided it?');
}

function replayExactly({ session, output }) {
  title('3. Replay: the same run again, with the provider switched off');
  const result = reenact(['replay', session, '--', 'node', agent]);
  if (result.status !== 0 || result.stdout !== output) fail('the replay is not exact', outputOf(result));
  say(lastWords(result));
  say(summaryOf(result));
  say('Byte for byte the same output: that discount code and the date of that moment too.');
}

async function testHypotheses(session) {
  title('4. Change one value: two hypotheses');
  say('The provider is up again, for whatever the changed conversation asks anew.');
  const provider = await startProvider();
  const text = variant === 'openai' ? 'choices/0/message/content' : 'content/0/text';
  const hypotheses = [
    { name: 'the answer of check_coverage decided it', set: 'tool:check_coverage#1/status="acceptable"' },
    { name: "the model's classification (turn 3) decided it", set: `llm#2/${text}="Classification: COVERAGE."` },
  ];
  const holding = [];
  for (const { name, set } of hypotheses) {
    out();
    const result = reenact(['replay', session, '--set', set, '--on-divergence', 'live-from-here', '--', 'node', agent]);
    if (result.status !== 0) fail('a what-if failed', outputOf(result));
    const isFlagged = /Review REV-/.test(lastWords(result));
    say(lastWords(result));
    say(summaryOf(result));
    say(`=> ${isFlagged ? 'the outcome CHANGES' : 'the outcome stays'}: ${name}? ${isFlagged ? 'Yes.' : 'No.'}`);
    if (isFlagged) holding.push(name);
  }
  if (holding.length !== 1 || holding[0] !== hypotheses[1].name) fail('another hypothesis was expected to hold');
  out();
  say('The model took a complaint for a question of price, and prompt v1 lets it. Prompt v2 states the rule.');
  return provider;
}

function keep(session) {
  title('5. Keep it: the conversation as a regression test');
  const made = reenact([
    ...['promote', session, '--name', 'retention', '-o', 'tests'],
    ...['--assert', 'calls:flag_coverage_review<offer_loyalty_discount'],
    ...['--set', 'tool:flag_coverage_review={"review":"REV-TEST"}', '--on-divergence', 'live'],
    ...['--', 'node', agent],
  ]);
  if (made.status !== 0) fail('promote failed', outputOf(made));
  for (const file of made.stdout.trim().split('\n'))
    out(file.replace(`${folder}/`, '').replace(/^.*reenact-demo-[^/]*\//, ''));
  for (const [version, status] of [
    ['v1', 1],
    ['v2', 0],
  ]) {
    out();
    const result = reenact(['test', 'tests'], { env: { PROMPT_VERSION: version } });
    out(result.stdout.trimEnd());
    if (result.status !== status)
      fail(`the test should ${status === 0 ? 'pass' : 'fail'} on prompt ${version}`, outputOf(result));
  }
  out();
  say(
    'Red on the faulty prompt, green on the mended one. Under v1 every call is answered from the recording; under v2 the model is asked anew, and the tools still answer as recorded.',
  );
}

const started = Date.now();
const conversation = await recordUntilOneFails();
look(conversation.session);
replayExactly(conversation);
const provider = await testHypotheses(conversation.session);
keep(conversation.session);
await stopProvider(provider);
title(`Done in ${Math.round((Date.now() - started) / 1000)} s`);
say(
  'Shown: an unmodified agent recorded, one failed conversation replayed offline, the value that decided it found, and the conversation kept as a test.',
);
out();
out('Your own agent:   npx reenact record -- node your-agent.js');
out('The other SDK:    npm run demo -- ' + (variant === 'openai' ? 'anthropic' : 'openai'));
out('Read on:          docs/README.md');
if (keepFolder) out(`The recordings:   cd ${folder}`);
