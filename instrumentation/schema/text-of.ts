/** What `String` makes of a value of the program, which may refuse to be read at all. */
export function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return 'unreadable value';
  }
}
