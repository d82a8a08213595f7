import { ReenactError } from '../../instrumentation/schema/errors';
import { asReenactError } from './failure';
import { Output } from './output';
import type { TextStream } from './output';
import { runCommandLine } from './program';

export interface MainStreams {
  readonly stdout: TextStream;
  readonly stderr: TextStream;
}

/**
 * Runs the command line and ends the process with its exit code: 0 faithful or passed, 1 diverged or failed,
 * 2 wrong input or usage.
 */
export function main(argv: readonly string[]): void {
  // A reader such as `head` that has seen enough closes the pipe; that is no failure of ours.
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
      process.exit(0);
    });
  void execute(argv, { stdout: process.stdout, stderr: process.stderr }).then((code) => {
    process.exitCode = code;
    // Sockets of a source may still be kept alive; only what is written has to be out.
    process.stdout.write('', () => process.stderr.write('', () => process.exit(code)));
  });
}

/** Runs the command line and answers the exit code; every failure is written as one coded line. */
export async function execute(argv: readonly string[], streams: MainStreams): Promise<number> {
  const separator = argv.indexOf('--');
  const own = separator < 0 ? argv : argv.slice(0, separator);
  const command = separator < 0 ? undefined : argv.slice(separator + 1);
  const env = process.env;
  const cwd = process.cwd();
  // Read before the parser runs, so that its own errors come in the form that was asked for.
  const report = own.indexOf('--report');
  const reportFile = report < 0 ? own.find((arg) => arg.startsWith('--report='))?.slice(9) : own[report + 1];
  const output = new Output({ json: own.includes('--json'), report: reportFile, cwd, env, ...streams });
  try {
    return await runCommandLine({ own, command, env, cwd, output });
  } catch (cause) {
    try {
      output.failure(asReenactError(cause));
    } catch (reportError) {
      output.note(`reenact: FILE_NOT_WRITABLE ${(reportError as ReenactError).message}`);
    }
    return 2;
  }
}
