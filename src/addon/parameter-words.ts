/** Parameters of requests and responses as words; `native/engine/port/port_layout.h` has the layout. */

import { parameterDouble, parameterFlag, parameterInteger, parameterString } from './layout.js';

/** The value of a parameter. */
type Value = string | number | bigint | boolean;

const leastInteger = -(2n ** 63n);
const mostInteger = 2n ** 63n - 1n;
const encoder = new TextEncoder();
/** A text may begin with U+FEFF, which is then a part of it. */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** A number of 8 bytes, and its two words. The engine reads words as its machine does. */
const pair = new Int32Array(2);
const integer = new BigInt64Array(pair.buffer);
const double = new Float64Array(pair.buffer);
const eight = new Uint8Array(pair.buffer);

/** A parameter of a kind, with the bytes of its value. */
export function parameterWords(kind: number, name: string, value: Uint8Array): Int32Array {
  const bytes = encoder.encode(name);
  const nameWords = Math.ceil(bytes.length / 4);
  const words = new Int32Array(3 + nameWords + Math.ceil(value.length / 4));
  words.set([kind, bytes.length, value.length]);
  const all = new Uint8Array(words.buffer);
  all.set(bytes, 12);
  all.set(value, 12 + 4 * nameWords);
  return words;
}

/**
 * A parameter with its value. An integer that a number or a bigint of 64 bits can be is one in the engine, too.
 *
 * @returns Undefined if no parameter can have the value.
 */
export function encodeParameter(name: string, value: unknown): Int32Array | undefined {
  if (typeof value === 'string') return parameterWords(parameterString, name, encoder.encode(value));
  if (typeof value === 'boolean') {
    return parameterWords(parameterFlag, name, new Uint8Array(Int32Array.of(value ? 1 : 0).buffer));
  }
  if (typeof value === 'number' && !Number.isSafeInteger(value)) {
    double[0] = value;
    return parameterWords(parameterDouble, name, eight);
  }
  const whole = typeof value === 'number' ? BigInt(value) : value;
  if (typeof whole !== 'bigint' || whole < leastInteger || whole > mostInteger) return undefined;
  integer[0] = whole;
  return parameterWords(parameterInteger, name, eight);
}

/**
 * Reads parameters from `offset` on, a multiple of 4. Integers are numbers where these have them exactly.
 *
 * @param size - The bytes of all parameters.
 */
export function readParameters(
  words: Int32Array,
  bytes: Uint8Array,
  offset: number,
  size: number,
): Readonly<Record<string, Value>> {
  const entries: [string, Value][] = [];
  const end = (offset + size) >> 2;
  for (let at = offset >> 2; at < end;) {
    const kind = words[at];
    const nameBytes = words[at + 1] ?? 0;
    const valueBytes = words[at + 2] ?? 0;
    const name = decoder.decode(bytes.subarray(4 * (at + 3), 4 * (at + 3) + nameBytes));
    at += 3 + ((nameBytes + 3) >> 2);
    entries.push([name, valueAt(kind, words, bytes, at, valueBytes)]);
    at += (valueBytes + 3) >> 2;
  }
  // A name may be `__proto__`.
  return Object.freeze(Object.fromEntries(entries));
}

function valueAt(
  kind: number | undefined,
  words: Int32Array,
  bytes: Uint8Array,
  at: number,
  size: number,
): Value {
  if (kind === parameterString) return decoder.decode(bytes.subarray(4 * at, 4 * at + size));
  if (kind === parameterFlag) return words[at] !== 0;
  pair[0] = words[at] ?? 0;
  pair[1] = words[at + 1] ?? 0;
  if (kind === parameterDouble) return double[0] ?? 0;
  const whole = integer[0] ?? 0n;
  const number = Number(whole);
  return Number.isSafeInteger(number) ? number : whole;
}
