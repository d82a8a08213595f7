import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { latestRun, readRun } from '../../exporter/local-store';
import { createSink } from '../../exporter/sink';
import { readConfig } from '../../instrumentation/config';
import { exchange } from './record-samples';

const folder = (): string => fs.mkdtempSync(join(tmpdir(), 'reenact-death-'));

test('a process killed by SIGKILL keeps every record that was written', async () => {
  const store = join(folder(), '.reenact');
  const child = spawn(process.execPath, ['--import', 'tsx', join(__dirname, 'fixtures', 'endless-writer.ts')], {
    env: { ...process.env, REENACT_DIR: store },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  child.stdout.on('data', (data: Buffer) => {
    out += data.toString();
    if (out.split('\n').length > 60) child.kill('SIGKILL');
  });
  await new Promise((resolve) => child.on('close', resolve));
  const written = out.split('\n').filter(Boolean).length;
  const { calls, gaps } = await readRun(store, 'run-1');
  expect(calls.length).toBeGreaterThanOrEqual(written);
  expect(calls.slice(0, written).map((call) => call.seqStart / 2)).toEqual(
    Array.from({ length: written }, (_, i) => i),
  );
  expect(gaps).toEqual([]);
});

test('a last line that is cut is named and the rest is read', async () => {
  const store = join(folder(), '.reenact');
  const sink = createSink(readConfig({ REENACT_DIR: store }, tmpdir()), { diagnostics: { failed: () => undefined } });
  for (let i = 0; i < 3; i++) sink.write(exchange(`{"n":${i},"separator":"\u2028"}`));
  const file = latestRun(store)?.files[0] as string;
  fs.truncateSync(file, fs.statSync(file).size - 100);
  const { calls, gaps } = await readRun(store, 'run-1');
  expect(calls).toHaveLength(2);
  expect(gaps[0]?.message).toMatch(/line 3 is cut or damaged/);
});
