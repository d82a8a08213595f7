import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { ReenactError } from '../../instrumentation/schema/errors';
import { harmless, harmlessJson, oneLine, paletteFor } from './terminal-text';
import type { Palette } from './terminal-text';

/** A stream that may be a terminal. */
export type TextStream = Writable & { isTTY?: boolean; columns?: number };

export interface OutputOptions {
  readonly json: boolean;
  readonly report: string | undefined;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: TextStream;
  readonly stderr: TextStream;
}

/** Where a command's document, its text for people and its diagnostics go. */
export class Output {
  /** For stdout and for stderr, which need not both be terminals. */
  readonly palette: Palette;
  readonly errorPalette: Palette;

  constructor(readonly options: OutputOptions) {
    this.palette = paletteFor(options.stdout, options.env);
    this.errorPalette = paletteFor(options.stderr, options.env);
  }

  get json(): boolean {
    return this.options.json;
  }

  /** Columns for text on stdout. */
  get width(): number {
    return Math.max(40, Math.min(this.options.stdout.columns ?? 80, 100));
  }

  /** The result of a command: with `--json` the document, else the text, on stdout; `--report` always the document. */
  result(document: unknown, text: string): void {
    this.report(document);
    if (this.options.json) this.options.stdout.write(`${harmlessJson(document)}\n`);
    else if (text !== '') this.options.stdout.write(text);
  }

  /** One line on stderr. */
  note(line: string): void {
    this.options.stderr.write(`${oneLine(line)}\n`);
  }

  /** Text on stderr that has been made harmless and coloured already. */
  diagnostic(text: string): void {
    this.options.stderr.write(text);
  }

  /** The coded line and the line of what to do; with `--json` the error document on stdout as well. */
  failure(error: ReenactError): void {
    const document = { error: { code: error.code, message: error.message, hint: error.hint } };
    const { red } = this.errorPalette;
    this.options.stderr.write(`${red('reenact:')} ${error.code} ${oneLine(error.message)}\n${oneLine(error.hint)}\n`);
    if (this.options.env['REENACT_DEBUG'] === '1') this.options.stderr.write(`${harmless(error.stack ?? '')}\n`);
    if (this.options.json) this.options.stdout.write(`${harmlessJson(document)}\n`);
    if (this.options.report !== undefined && error.code !== 'FILE_NOT_WRITABLE') this.report(document);
  }

  private report(document: unknown): void {
    if (this.options.report === undefined) return;
    const path = resolve(this.options.cwd, this.options.report);
    try {
      writeFileSync(path, `${harmlessJson(document, 2)}\n`);
    } catch (cause) {
      throw new ReenactError('FILE_NOT_WRITABLE', `the report ${path} cannot be written: ${(cause as Error).message}`, {
        cause,
      });
    }
  }
}
