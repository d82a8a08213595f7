/** Splits a command as a shell would: white space, single and double quotes, backslash. Nothing is expanded. */
export function splitCommand(text: string): string[] {
  const parts: string[] = [];
  let part: string | undefined;
  let quote = '';
  for (let at = 0; at < text.length; at++) {
    const character = text[at] ?? '';
    const next = text[at + 1];
    if (character === '\\' && quote !== "'" && next !== undefined && (quote === '' || /["\\$`]/.test(next))) {
      part = (part ?? '') + next;
      at += 1;
    } else if (quote !== '') {
      if (character === quote) quote = '';
      else part = (part ?? '') + character;
    } else if (character === '"' || character === "'") {
      quote = character;
      part ??= '';
    } else if (/\s/.test(character)) {
      if (part !== undefined) parts.push(part);
      part = undefined;
    } else part = (part ?? '') + character;
  }
  return part === undefined ? parts : [...parts, part];
}
