/** Characters that steer a terminal or reorder what a person reads. */
// eslint-disable-next-line no-control-regex
const STEERING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g;

/** Text of a recording made harmless for a terminal: an escape shows as ␛, not as what it would do. */
export function harmless(text: string): string {
  return text
    .replace(/\r\n/g, '\n')
    .replace(/\p{Cs}/gu, '\ufffd')
    .replace(STEERING, (character) => {
      const code = character.charCodeAt(0);
      if (code < 0x20) return String.fromCharCode(0x2400 + code);
      if (code === 0x7f) return '\u2421';
      return `\\u${code.toString(16).padStart(4, '0')}`;
    });
}

/** Harmless text on one line. */
export function oneLine(text: string): string {
  return harmless(text).replace(/\s*[\n\t]\s*/g, ' ');
}

/** JSON that is the same value and yet harmless when it is printed on a terminal. */
export function harmlessJson(value: unknown, indent?: number): string {
  return (JSON.stringify(value, null, indent) ?? 'null').replace(
    /[\u007f-\u009f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Columns a text takes on a terminal: East Asian wide characters and emoji take two, combining marks none. */
export function columns(text: string): number {
  let width = 0;
  for (const character of text) width += characterColumns(character);
  return width;
}

function characterColumns(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x300) return 1;
  if (/^[\p{Mn}\p{Me}\p{Cf}]$/u.test(character)) return 0;
  const wide =
    (code >= 0x1100 && code <= 0x115f) ||
    (code >= 0x2e80 && code <= 0xa4cf) ||
    (code >= 0xac00 && code <= 0xd7a3) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0xfe30 && code <= 0xfe6f) ||
    (code >= 0xff00 && code <= 0xff60) ||
    (code >= 0xffe0 && code <= 0xffe6) ||
    (code >= 0x1f300 && code <= 0x1faff) ||
    (code >= 0x20000 && code <= 0x3fffd);
  return wide ? 2 : 1;
}

/** Lines of at most `width` columns, broken at spaces where there are some; the line breaks of the text stay. */
export function wrap(text: string, width: number): string[] {
  return text.split('\n').flatMap((line) => wrapLine(line.replace(/\t/g, '  '), width));
}

function wrapLine(line: string, width: number): string[] {
  const lines: string[] = [];
  let current = '';
  let used = 0;
  for (const word of line.split(/(?<= )/)) {
    // The space that ends a word may hang over the edge.
    if (used > 0 && used + columns(word.trimEnd()) > width) {
      lines.push(current.trimEnd());
      [current, used] = ['', 0];
    }
    for (const character of columns(word) > width ? word : [word]) {
      const wide = columns(character);
      if (used + columns(character.trimEnd()) > width && used > 0) {
        lines.push(current);
        [current, used] = ['', 0];
      }
      current += character;
      used += wide;
    }
  }
  lines.push(current.trimEnd());
  return lines;
}

/** The beginning of a text, marked when it is cut. */
export function cut(text: string, width: number): string {
  if (columns(text) <= width) return text;
  let kept = '';
  let used = 1;
  for (const character of text) {
    used += characterColumns(character);
    if (used > width) break;
    kept += character;
  }
  return `${kept}…`;
}

export interface Palette {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
  readonly cyan: (text: string) => string;
}

/** Colours for a stream: only on a terminal, and not with `NO_COLOR`. */
export function paletteFor(
  stream: { isTTY?: boolean },
  env: Readonly<Record<string, string | undefined>> = process.env,
): Palette {
  const on = stream.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
  const style = (open: number, close: number) => (text: string) => (on ? `\x1b[${open}m${text}\x1b[${close}m` : text);
  return {
    bold: style(1, 22),
    dim: style(2, 22),
    red: style(31, 39),
    green: style(32, 39),
    yellow: style(33, 39),
    cyan: style(36, 39),
  };
}
