import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { ExecutionLog } from '../../instrumentation/schema/execution-log';
import type { ReplayDocument } from '../../replay/player/report';

const ROOT = resolve(__dirname, '../..');
const PACKAGES = ['openai', '@anthropic-ai/sdk'];

export interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
  readonly signal: string | null;
  readonly ms: number;
}

interface RunOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly node?: string;
  /** Called with the process as soon as it writes to stdout. */
  readonly onOutput?: (child: { kill(signal: NodeJS.Signals): boolean }, stdout: string) => void;
  /** What `replay` replays; the last run without it. */
  readonly ref?: string;
}

/** Programs in a folder of their own that has the built package and the SDKs installed. */
export class InstalledPrograms {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'reenact-programs-')));

  constructor(files: Readonly<Record<string, string>> = {}) {
    if (!existsSync(join(ROOT, 'dist/instrumentation/register.js'))) throw new Error('build first: npm run build');
    for (const name of PACKAGES) this.link(join(ROOT, 'node_modules', name), name);
    this.link(ROOT, 'reenact');
    this.write(files);
  }

  private link(target: string, name: string): void {
    const path = join(this.folder, 'node_modules', name);
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync(target, path);
  }

  write(files: Readonly<Record<string, string>>): void {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(this.folder, name), text);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Runs Node with these arguments. */
  run(argv: readonly string[], options: RunOptions = {}): Promise<Ended> {
    const inherited = Object.entries(process.env).filter(
      ([name]) => !/^(REENACT_|OTEL_|NODE_OPTIONS|JEST_)/.test(name),
    );
    const started = performance.now();
    const child = spawn(options.node ?? process.execPath, argv, {
      cwd: this.folder,
      env: { ...Object.fromEntries(inherited), ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (piece: Buffer) => {
      stdout += piece.toString();
      options.onOutput?.(child, stdout);
    });
    child.stderr.on('data', (piece: Buffer) => (stderr += piece.toString()));
    return new Promise((done) =>
      child.on('close', (code, signal) => done({ stdout, stderr, code, signal, ms: performance.now() - started })),
    );
  }

  /** Runs a program with the preload. */
  preloaded(argv: readonly string[], options: RunOptions = {}): Promise<Ended> {
    return this.run(['--require', 'reenact/register', ...argv], options);
  }

  /** Runs a command of `reenact`. */
  reenact(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
    return this.run([join(ROOT, 'bin/reenact.js'), ...args], options);
  }

  record(argv: readonly string[], options: RunOptions = {}): Promise<Ended> {
    return this.reenact(['record', '--', options.node ?? process.execPath, ...argv], options);
  }

  /** The execution logs of the last recorded run. */
  async logs(): Promise<ExecutionLog[]> {
    const { stdout, stderr } = await this.reenact(['pull', 'last']);
    if (stdout === '') throw new Error(stderr);
    return stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as ExecutionLog);
  }

  async replay(args: readonly string[] = [], options: RunOptions = {}): Promise<Ended & { document: ReplayDocument }> {
    const report = join(this.folder, 'report.json');
    rmSync(report, { force: true });
    const ended = await this.reenact(['replay', options.ref ?? 'last', '--report', report, ...args], options);
    if (!existsSync(report)) throw new Error(`no report: ${ended.stderr}`);
    return { ...ended, document: JSON.parse(readFileSync(report, 'utf8')) as ReplayDocument };
  }
}
