/** One differing place of two JSON values. A side that has nothing there has no key. */
export interface JsonChange {
  readonly path: string;
  readonly a?: unknown;
  readonly b?: unknown;
}

/** Differences named per value; two long unlike values would else fill the terminal and the memory. */
const MAX_CHANGES = 200;

/** Deeper values are compared as a whole. */
const MAX_DEPTH = 100;

/** The places in which two JSON values differ, as JSON Pointers, in document order; at most 200. */
export function jsonChanges(a: unknown, b: unknown): JsonChange[] {
  const changes: JsonChange[] = [];
  collect(a, b, { path: '', depth: 0, changes });
  return changes;
}

interface Walk {
  readonly path: string;
  readonly depth: number;
  readonly changes: JsonChange[];
}

function collect(a: unknown, b: unknown, walk: Walk): void {
  if (Object.is(a, b) || walk.changes.length >= MAX_CHANGES) return;
  if (!sameContainer(a, b) || walk.depth >= MAX_DEPTH) {
    if (walk.depth >= MAX_DEPTH && JSON.stringify(a) === JSON.stringify(b)) return;
    walk.changes.push({ path: walk.path, ...(a !== undefined && { a }), ...(b !== undefined && { b }) });
    return;
  }
  const [left, right] = [a as object, b as object];
  const keys = new Set([...Object.keys(left), ...Object.keys(right)]);
  for (const key of keys) {
    collect(own(left, key), own(right, key), {
      path: `${walk.path}/${escapePointer(key)}`,
      depth: walk.depth + 1,
      changes: walk.changes,
    });
  }
}

function sameContainer(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  return Array.isArray(a) === Array.isArray(b);
}

/** Own properties only: a key such as `constructor` must not find the prototype's. */
function own(value: object, key: string): unknown {
  return Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
}

/** A key as one step of a JSON Pointer (RFC 6901). */
export function escapePointer(key: string): string {
  return key.replace(/~/g, '~0').replace(/\//g, '~1');
}

/** The value at a JSON Pointer; undefined when there is none. */
export function atPointer(value: unknown, pointer: string): unknown {
  let current: unknown = value;
  for (const step of pointer === '' ? [] : pointer.slice(1).split('/')) {
    if (typeof current !== 'object' || current === null) return undefined;
    current = own(current, step.replace(/~1/g, '/').replace(/~0/g, '~'));
  }
  return current;
}
