/**
 * Encodes header blocks. Fields are literals that no table takes, so that a block does not depend on those before it, and constant
 * blocks are encoded once.
 */

import { staticFields } from './static-table.js';

/** Empties the dynamic table of the peer. It must precede the next block if the peer wants a smaller table. */
export const emptyTable: Buffer = Buffer.of(0x20);

/** The first index of each name, and the index of each pair of name and value. */
const names: ReadonlyMap<string, number> = new Map(
  staticFields.map(([name], i): [string, number] => [name, i + 1]).reverse(),
);
const pairs: ReadonlyMap<string, number> = new Map(
  staticFields.map(([name, value = ''], i): [string, number] => [`${name}\0${value}`, i + 1]),
);

/** Appends an integer whose first bits are the last of the byte `first`. */
function pushInteger(bytes: number[], first: number, mask: number, value: number): void {
  if (value < mask) {
    bytes.push(first | value);
    return;
  }
  bytes.push(first | mask);
  let rest = value - mask;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  bytes.push(rest);
}

/**
 * Encodes headers.
 *
 * @param headers - Names are lower case. The characters of names and values are bytes.
 */
export function encodeHeaders(headers: readonly (readonly [name: string, value: string])[]): Buffer {
  const parts: Buffer[] = [];
  for (const [name, value] of headers) {
    const bytes: number[] = [];
    const pair = pairs.get(`${name}\0${value}`);
    if (pair === undefined) {
      const index = names.get(name) ?? 0;
      pushInteger(bytes, 0, 15, index);
      if (index === 0) {
        pushInteger(bytes, 0, 127, name.length);
        parts.push(Buffer.from(bytes.splice(0)), Buffer.from(name, 'latin1'));
      }
      pushInteger(bytes, 0, 127, value.length);
      parts.push(Buffer.from(bytes), Buffer.from(value, 'latin1'));
    } else {
      pushInteger(bytes, 0x80, 127, pair);
      parts.push(Buffer.from(bytes));
    }
  }
  return Buffer.concat(parts);
}
