import { ProviderStub } from '../third-party/provider-stub';
import { InstalledPrograms } from './installed-programs';

const ASK = `
import OpenAI from 'openai';
const client = new OpenAI({ apiKey: 'k', baseURL: process.env.BASE + '/v1' });
const { choices } = await client.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: process.argv[2] + Math.random() }] });
console.log(process.argv[2], choices[0].message.content);
`;
const NODE = `"${process.execPath}"`;

/** Commands between which and the program stands something else. */
const launchers: Record<string, { argv: string[]; calls: number; exit: number }> = {
  'two programs of one shell': { argv: ['sh', '-c', `${NODE} ask.mjs a && ${NODE} ask.mjs b`], calls: 2, exit: 0 },
  'a shell that ends otherwise than its program': {
    argv: ['sh', '-c', `${NODE} ask.mjs a; exit 3`],
    calls: 1,
    exit: 3,
  },
  'npm start': { argv: ['npm', 'start', '--silent'], calls: 1, exit: 0 },
  'a program that only starts others': { argv: [process.execPath, 'parent.mjs'], calls: 2, exit: 0 },
};

describe('a program started by another', () => {
  const installed = new InstalledPrograms({
    'ask.mjs': ASK,
    'parent.mjs': `import { execSync } from 'node:child_process';
process.stdout.write(execSync(${JSON.stringify(`${NODE} ask.mjs c; ${NODE} ask.mjs d`)}))`,
    'package.json': JSON.stringify({ name: 'app', scripts: { start: 'node ask.mjs s' } }),
  });
  let stub: ProviderStub;
  beforeAll(async () => {
    stub = await ProviderStub.listen();
  });
  afterAll(async () => {
    await stub.close();
    installed.remove();
  });

  it.each(Object.entries(launchers))('is replayed by the recorded command: %s', async (_, { argv, calls, exit }) => {
    const recorded = await installed.reenact(['record', '--', ...argv], { env: { BASE: stub.origin } });
    const replayed = await installed.replay([], { env: { BASE: stub.origin } });
    expect(recorded.code).toBe(exit);
    expect(replayed.document).toMatchObject({ total: calls, exact: calls, live: 0, blocked: 0, faithful: true });
    expect([replayed.code, replayed.stdout]).toEqual([0, recorded.stdout]);
  });
});
