import type { Tokens } from './redaction-key';

/** Shorter values (`admin`, `1234`) would be found in texts that do not mean them. */
const SHORTEST = 8;
/** Values that are looked for; a program that draws tokens all day long must not grow for ever. */
const MAX_KNOWN = 500;

/**
 * Secrets that were told by their place (the field `access_token` of a tool's result, a cookie): from then on they are
 * replaced wherever they stand, for agents put such results into the messages of the next call.
 */
export class KnownSecrets {
  private readonly tokens: Tokens;
  /** The token of each spelling. */
  private readonly known = new Map<string, string>();
  /** Characters of the longest spelling. */
  longest = 0;

  constructor(tokens: Tokens) {
    this.tokens = tokens;
  }

  /** The token of a secret, which is known from now on. */
  learn(secret: string): string {
    const token = this.tokens(secret);
    if (token === secret || secret.length < SHORTEST) return token;
    for (const spelling of spellings(secret)) {
      this.known.delete(spelling);
      this.known.set(spelling, token);
      this.longest = Math.max(this.longest, spelling.length);
    }
    while (this.known.size > MAX_KNOWN) this.known.delete(this.known.keys().next().value ?? '');
    return token;
  }

  replace(text: string): string {
    let safe = text;
    for (const [spelling, token] of this.known) if (safe.includes(spelling)) safe = safe.replaceAll(spelling, token);
    return safe;
  }
}

/** As it is, within JSON, within JSON that is a text of JSON; and each as bodies are searched, a character a byte. */
function spellings(secret: string): Set<string> {
  const inJson = JSON.stringify(secret).slice(1, -1);
  const texts = [secret, inJson, JSON.stringify(inJson).slice(1, -1)];
  return new Set([...texts, ...texts.map((text) => Buffer.from(text, 'utf8').toString('latin1'))]);
}
