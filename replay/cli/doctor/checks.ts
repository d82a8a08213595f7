import { accessSync, constants, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { listRuns, readRun } from '../../../exporter/local-store';
import { readConfig } from '../../../instrumentation/config';
import type { Config, DeclaredFunctions } from '../../../instrumentation/config';
import { ReenactError } from '../../../instrumentation/schema/errors';
import { asReenactError } from '../failure';
import { preloadPath } from '../../drivers/run-program';

/** One line of the document of `reenact doctor`. */
export interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  /** What to do; '' when there is nothing to do. */
  readonly hint: string;
}

/** Longest wait for the OTLP endpoint. */
const REACH_MS = 3_000;

/** Runs looked at for losses, newest first. */
const RUNS_CHECKED = 20;

/** Checks what is needed to record here. */
export async function diagnose(env: Readonly<Record<string, string | undefined>>, cwd: string): Promise<Check[]> {
  const checks = [checkNode(), checkPreload()];
  let config: Config;
  try {
    config = readConfig(env, cwd);
  } catch (error) {
    const { message, hint } = asReenactError(error);
    return [...checks, { name: 'configuration', ok: false, detail: message, hint }];
  }
  checks.push({ name: 'configuration', ok: true, detail: describeConfig(config), hint: '' });
  checks.push(...checkDeclared(config));
  checks.push(checkStore(config.store));
  checks.push(await checkEndpoint(config));
  checks.push(await checkLosses(config.store));
  return checks;
}

function checkNode(): Check {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const ok = major > 20 || (major === 20 && minor >= 19);
  return {
    name: 'Node version',
    ok,
    detail: `${process.version} on ${process.platform}-${process.arch}`,
    hint: ok ? '' : 'Use Node 20.19 or newer.',
  };
}

function checkPreload(): Check {
  const ok = existsSync(preloadPath());
  return {
    name: 'preload',
    ok,
    detail: preloadPath(),
    hint: ok ? '' : 'The package is incomplete; install it again.',
  };
}

function describeConfig(config: Config): string {
  const tools = (config.file.tools ?? []).flatMap((entry) => entry.exports).length;
  const observed = (config.file.observe ?? []).flatMap((entry) => entry.exports).length;
  const off = config.record === 'off' || config.mode === 'off' ? '; recording is switched off' : '';
  return `${tools} declared tools, ${observed} declared observations, mode ${config.mode}${off}`;
}

/** A declared module that is absent is a notice: another entry point of the program may have it. */
function checkDeclared(config: Config): Check[] {
  return [...(config.file.tools ?? []), ...(config.file.observe ?? [])].map((entry) => {
    const found = findModule(entry, config.configDir);
    return {
      name: `declared module ${entry.module}`,
      ok: true,
      detail: found === undefined ? 'notice: not found from the folder of reenact.config.json' : found,
      hint: found === undefined ? 'Check "module": it is resolved as an import from that folder.' : '',
    };
  });
}

const EXTENSIONS = ['', '.js', '.mjs', '.cjs', '.ts', '.mts', '.cts', '.tsx', '.jsx', '/index.js', '/index.ts'];

function findModule(entry: DeclaredFunctions, folder: string): string | undefined {
  if (/^[./]/.test(entry.module)) {
    const path = resolve(folder, entry.module);
    // TypeScript sources are imported under the name of their output.
    const source = path.replace(/\.([cm]?)js$/, '.$1ts');
    return [...EXTENSIONS.map((extension) => path + extension), source].find((candidate) => isFile(candidate));
  }
  try {
    return createRequire(join(folder, 'reenact.config.json')).resolve(entry.module);
  } catch {
    // Not resolvable for `require`; a package with `import` conditions only is there all the same.
    const path = join(folder, 'node_modules', entry.module);
    return existsSync(path) ? path : undefined;
  }
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

function checkStore(store: string): Check {
  const base = { name: 'local store' };
  try {
    // The nearest folder that exists decides; the store itself is only made by a recording.
    let folder = store;
    while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
    if (existsSync(store)) rmSync(mkdtempSync(join(store, '.probe-')), { recursive: true });
    else accessSync(folder, constants.W_OK);
    const state = existsSync(store) ? `${listRuns(store).length} runs` : 'not there yet, can be made';
    return { ...base, ok: true, detail: `${store}: ${state}`, hint: '' };
  } catch (error) {
    return {
      ...base,
      ok: false,
      detail: `${store} is not writable: ${(error as Error).message}`,
      hint: 'Set REENACT_DIR to a folder that is, or REENACT_SPOOL=off to keep records in memory.',
    };
  }
}

async function checkEndpoint(config: Config): Promise<Check> {
  const base = { name: 'OTLP endpoint' };
  const { url } = config.otlp;
  if (url === undefined) return { ...base, ok: true, detail: 'none set: recordings stay in the local store', hint: '' };
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...config.otlp.headers, 'content-type': 'application/json' },
      body: '{"resourceSpans":[]}',
      signal: AbortSignal.timeout(REACH_MS),
    });
    await response.body?.cancel();
    const refused = response.status === 401 || response.status === 403 || response.status === 404;
    return {
      ...base,
      ok: !refused,
      detail: `${url} answered ${response.status}`,
      hint: refused ? 'Check OTEL_EXPORTER_OTLP_ENDPOINT (without /v1/traces) and OTEL_EXPORTER_OTLP_HEADERS.' : '',
    };
  } catch (error) {
    const cause = (error as Error & { cause?: { code?: string } }).cause?.code ?? (error as Error).message;
    return {
      ...base,
      ok: false,
      detail: `${url} cannot be reached: ${cause}`,
      hint: 'Check the address, and that the Collector or backend is up. Nothing is lost: the local store keeps it.',
    };
  }
}

async function checkLosses(store: string): Promise<Check> {
  const name = 'losses';
  const lost: string[] = [];
  const runs = listRuns(store).slice(-RUNS_CHECKED);
  for (const run of runs) {
    try {
      const recording = await readRun(store, run.runId);
      for (const exit of recording.exits)
        for (const [place, count] of Object.entries(exit.failures ?? {}))
          lost.push(`${run.runId}: ${place} ${count} times`);
      for (const gap of recording.gaps) lost.push(`${run.runId}: ${gap.code} ${gap.message}`);
    } catch (error) {
      if (!(error instanceof ReenactError)) throw error;
      lost.push(`${run.runId}: ${error.code} ${error.message}`);
    }
  }
  return {
    name,
    ok: lost.length === 0,
    detail:
      lost.length === 0
        ? `nothing was lost in the last ${runs.length} runs`
        : lost.slice(0, 20).join('\n') + (lost.length > 20 ? `\nand ${lost.length - 20} more` : ''),
    hint: lost.length === 0 ? '' : 'Each line names what could not be recorded; a replay that needs it diverges there.',
  };
}
