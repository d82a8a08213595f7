#!/usr/bin/env node
// Builds the real Jaeger and the Collector that `npm run test:backends` uses, from the Go module proxy, once.
// `node scripts/backends.mjs [--have]` prints a line NAME=PATH for each; with --have only of those that are built.
// Needs Go 1.25, some 3 GB for its caches and some minutes. REENACT_BACKENDS_DIR: where the programs go.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';

const folder = process.env.REENACT_BACKENDS_DIR || join(homedir(), '.cache', 'reenact-backends');
// The tag of Jaeger v2.13.0 that Go can name.
const JAEGER = 'v1.76.0';
const COLLECTOR = 'v0.149.0';
const core = 'go.opentelemetry.io/collector';
const contrib = 'github.com/open-telemetry/opentelemetry-collector-contrib';
const modules = [
  ['receivers', `${core}/receiver/otlpreceiver`],
  ['receivers', `${contrib}/receiver/kafkareceiver`],
  ['processors', `${core}/processor/memorylimiterprocessor`],
  ['processors', `${core}/processor/batchprocessor`],
  ['processors', `${contrib}/processor/attributesprocessor`],
  ['processors', `${contrib}/processor/filterprocessor`],
  ['processors', `${contrib}/processor/groupbytraceprocessor`],
  ['processors', `${contrib}/processor/redactionprocessor`],
  ['processors', `${contrib}/processor/resourceprocessor`],
  ['processors', `${contrib}/processor/tailsamplingprocessor`],
  ['processors', `${contrib}/processor/transformprocessor`],
  ['exporters', `${core}/exporter/debugexporter`],
  ['exporters', `${core}/exporter/nopexporter`],
  ['exporters', `${core}/exporter/otlpexporter`],
  ['exporters', `${core}/exporter/otlphttpexporter`],
  ['exporters', `${contrib}/exporter/clickhouseexporter`],
  ['exporters', `${contrib}/exporter/fileexporter`, 'v0.148.0'],
  ['exporters', `${contrib}/exporter/kafkaexporter`],
  ['exporters', `${contrib}/exporter/prometheusexporter`],
  ['connectors', `${core}/connector/forwardconnector`],
  ['connectors', `${contrib}/connector/routingconnector`],
  ['connectors', `${contrib}/connector/spanmetricsconnector`],
  ['extensions', `${contrib}/extension/healthcheckextension`],
  ['extensions', `${contrib}/extension/storage/filestorage`],
  ['providers', `${core}/confmap/provider/envprovider`, 'v1.55.0'],
  ['providers', `${core}/confmap/provider/fileprovider`, 'v1.55.0'],
  ['providers', `${core}/confmap/provider/yamlprovider`, 'v1.55.0'],
].map(([kind, path, version = COLLECTOR]) => ({ kind, path, version }));

function go(cwd, args, env = {}) {
  const { status, stderr } = spawnSync('go', args, { cwd, env: { ...process.env, ...env }, encoding: 'utf8' });
  if (status !== 0) throw new Error(`go ${args[0]} failed: ${(stderr ?? '').split('\n').slice(-6).join('\n')}`);
}

const built = (program) => ['build', '-trimpath', '-ldflags=-s -w', '-o', program];

function buildJaeger(work, program) {
  const main = 'github.com/jaegertracing/jaeger/cmd/jaeger';
  go(work, ['mod', 'init', 'backends']);
  go(work, ['get', '-tool', `${main}@${JAEGER}`]);
  go(work, [...built(program), main], { CGO_ENABLED: '0' });
}

function buildCollector(work, program) {
  go(work, ['install', `${core}/cmd/builder@v0.165.0`], { GOBIN: work });
  const kinds = [...new Set(modules.map(({ kind }) => kind))];
  const lists = kinds.map((kind) => {
    const lines = modules
      .filter((item) => item.kind === kind)
      .map(({ path, version }) => `  - gomod: ${path} ${version}\n`);
    return `${kind}:\n${lines.join('')}`;
  });
  const head = `dist: { name: otelcol, version: ${COLLECTOR.slice(1)}, output_path: ./sources }\n`;
  writeFileSync(join(work, 'manifest.yaml'), head + lists.join(''));
  // The builder writes the sources only: its own tidying asks for test modules that a proxy need not serve.
  const flags = ['--config', 'manifest.yaml', '--skip-compilation', '--skip-get-modules', '--skip-strict-versioning'];
  const { status, stderr } = spawnSync(join(work, 'builder'), flags, { cwd: work, encoding: 'utf8' });
  if (status !== 0) throw new Error(`the builder of the Collector failed: ${stderr}`);
  const sources = join(work, 'sources');
  const required = modules.map(({ path, version }) => `-require=${path}@${version}`);
  const own = [`-require=${core}/otelcol@${COLLECTOR}`, `-require=${core}/confmap@v1.55.0`];
  go(sources, ['mod', 'init', 'otelcol']);
  go(sources, ['mod', 'edit', ...own, ...required]);
  go(sources, [...built(program), '-mod=mod', '.'], { CGO_ENABLED: '0' });
}

function provide(name, file, build) {
  const program = join(folder, file);
  if (!existsSync(program) && !process.argv.includes('--have')) {
    console.error(`Building ${file} …`);
    mkdirSync(folder, { recursive: true });
    const work = mkdtempSync(join(tmpdir(), 'reenact-backends-'));
    build(work, `${program}.new`);
    renameSync(`${program}.new`, program);
    rmSync(work, { recursive: true, force: true });
  }
  if (existsSync(program)) console.log(`${name}=${program}`);
}

const list = modules.map(({ kind, path, version }) => `${kind} ${path} ${version}\n`).join('');
const digest = createHash('sha256').update(list).digest('hex').slice(0, 8);
if (!process.argv.includes('--have') && spawnSync('go', ['version']).status !== 0)
  console.error('No go on this machine: tests that need a backend which is not built are skipped, by name.');
else {
  provide('jaeger', `jaeger-${JAEGER}`, buildJaeger);
  provide('otelcol', `otelcol-${COLLECTOR}-${digest}`, buildCollector);
}
