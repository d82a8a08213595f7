import { PAYLOAD_CODES, ATTRIBUTES } from '../instrumentation/schema/attributes';
import type { AttributeValue } from '../instrumentation/schema/records';
import { chunkForms } from './payload-codec';

/**
 * Most bytes of one attribute as JSON text. Jaeger on Badger makes an index key of each attribute and refuses the span
 * when a key is longer than 65,000 bytes; its JSON writes some letters longer than ours.
 */
const MAX_PART_BYTES = 48_000;
/** Chunks that stay below it whatever they hold. */
const FEW_CHUNKS = 10;
/** Most attributes that one payload becomes: a span has 128. Beyond, they grow. */
const MAX_PARTS = 90;

/** The attributes that hold the chunks of a payload: `KEY`, `KEY.2`, `KEY.3` … */
export function partsOf(key: string, chunks: readonly string[]): [string, readonly string[]][] {
  if (chunks.length <= FEW_CHUNKS) return [[key, chunks]];
  const sizes = chunks.map((chunk) => Buffer.byteLength(JSON.stringify(chunk)) + 1);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const most = Math.max(MAX_PART_BYTES, Math.ceil(total / MAX_PARTS));
  const parts: [string, string[]][] = [];
  let room = 0;
  chunks.forEach((chunk, index) => {
    const size = sizes[index] ?? 0;
    const part = parts.at(-1);
    if (part === undefined || size > room) {
      parts.push([parts.length === 0 ? key : `${key}.${parts.length + 1}`, [chunk]]);
      room = most - size;
    } else {
      part[1].push(chunk);
      room -= size;
    }
  });
  return parts;
}

const DIVIDED = [...Object.keys(PAYLOAD_CODES), ATTRIBUTES.record];

/** Puts the parts of each payload together again, whatever form a backend gave them. */
export function joinParts(attributes: Map<string, AttributeValue>): void {
  for (const key of DIVIDED) {
    if (!attributes.has(`${key}.2`)) continue;
    const chunks: string[] = [];
    for (let part = 1; ; part++) {
      const name = part === 1 ? key : `${key}.${part}`;
      const value = attributes.get(name);
      if (value === undefined) break;
      chunks.push(...(chunkForms(value)[0] ?? []));
      attributes.delete(name);
    }
    attributes.set(key, chunks);
  }
}
