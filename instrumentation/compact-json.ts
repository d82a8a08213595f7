/** Fields of an object as JSON texts; the elements of a list one by one, because conversations repeat them. */
export type CompactJson = readonly (readonly [field: string, value: string | readonly string[]])[];

/**
 * Keeps JSON of requests that repeat each other's messages in memory that grows with what is new in them.
 */
export class CompactJsonStore {
  private readonly texts = new Map<string, string>();
  /** Length of all distinct texts. */
  size = 0;

  /** A deep snapshot, as `JSON.stringify` would write it. Throws what `JSON.stringify` throws. */
  encode(value: object): CompactJson {
    return Object.entries(value).flatMap(([field, item]): [string, string | string[]][] => {
      if (Array.isArray(item)) return [[field, item.map((element) => this.keep(JSON.stringify(element) ?? 'null'))]];
      const text = JSON.stringify(item) as string | undefined;
      return text === undefined ? [] : [[field, this.keep(text)]];
    });
  }

  /** The one copy of a text. */
  keep(text: string): string {
    const known = this.texts.get(text);
    if (known !== undefined) return known;
    this.texts.set(text, text);
    this.size += text.length;
    return text;
  }
}

/** The object again; every call makes a new one, which its reader may change. */
export function decodeCompact(compact: CompactJson): Record<string, unknown> {
  return Object.fromEntries(
    compact.map(([field, value]) => [
      field,
      typeof value === 'string' ? (JSON.parse(value) as unknown) : value.map((text) => JSON.parse(text) as unknown),
    ]),
  );
}
