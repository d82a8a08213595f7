// Puts the preload and what it loads at once into one file: a hundred small ones cost 45 ms of CPU at start.
// What is loaded only when needed (the replay, the sending of a backlog) stays outside, under its own path.
import { build } from 'esbuild';

await build({
  entryPoints: ['instrumentation/register.ts'],
  outfile: 'dist/instrumentation/register.js',
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  external: ['../replay/*', '../exporter/send-spool', 'protobufjs', 'es-module-lexer'],
  logLevel: 'warning',
});
