/**
 * Converts whole arrays between FP32 and FP16 or BF16, by integer arithmetic on the bits. An element takes 2
 * ns; with the functions of half.ts it takes 8. The code is written out for each format, because constants in
 * variables would make it 1.5 times as slow.
 */

import { fp16 } from './half.js';

/**
 * Converts FP32 numbers to FP16 bits.
 *
 * @param floats - The numbers, as their bits.
 * @param halves - Receives the result; as long as `floats`.
 * @returns -1, or the index of the first finite number that would round to infinity. It stops there.
 */
export function encodeFp16(floats: Int32Array, halves: Uint16Array): number {
  const float = new Float32Array(1);
  const floatBits = new Int32Array(float.buffer);
  for (let i = 0; i < floats.length; i++) {
    const bits = floats[i] ?? 0;
    const sign = (bits >>> 16) & 0x8000;
    const magnitude = bits & 0x7fffffff;
    if (magnitude < 0x38800000) {
      // Results below 2^-14 are subnormal.
      floatBits[0] = bits;
      halves[i] = fp16.encode(float[0] ?? 0);
    } else if (magnitude >= 0x7f800000) {
      halves[i] = sign | (magnitude > 0x7f800000 ? 0x7e00 : 0x7c00);
    } else {
      // Subtracts 127 - 15 from the exponent, and adds half of the last bit kept, or just under half if that
      // bit is 0.
      const rounded = (magnitude - 0x38000000 + 0xfff + ((magnitude >>> 13) & 1)) >>> 13;
      if (rounded >= 0x7c00) return i;
      halves[i] = sign | rounded;
    }
  }
  return -1;
}

/** Converts FP32 numbers to BF16 bits. Parameters and result are those of {@link encodeFp16}. */
export function encodeBf16(floats: Int32Array, halves: Uint16Array): number {
  for (let i = 0; i < floats.length; i++) {
    const bits = floats[i] ?? 0;
    const sign = (bits >>> 16) & 0x8000;
    const magnitude = bits & 0x7fffffff;
    if (magnitude >= 0x7f800000) {
      halves[i] = sign | (magnitude > 0x7f800000 ? 0x7fc0 : 0x7f80);
    } else {
      const rounded = (magnitude + 0x7fff + ((magnitude >>> 16) & 1)) >>> 16;
      if (rounded >= 0x7f80) return i;
      halves[i] = sign | rounded;
    }
  }
  return -1;
}

/** The numbers of FP16 bits. FP32 holds all of them exactly. */
export function decodeFp16(halves: Uint16Array): Float32Array<ArrayBuffer> {
  const values = new Float32Array(halves.length);
  const floats = new Int32Array(values.buffer);
  for (let i = 0; i < halves.length; i++) {
    const bits = halves[i] ?? 0;
    const magnitude = bits & 0x7fff;
    const sign = (bits & 0x8000) << 16;
    if (magnitude < 0x400) values[i] = fp16.decode(bits);
    else if (magnitude < 0x7c00) floats[i] = sign | ((magnitude << 13) + 0x38000000);
    else floats[i] = sign | 0x7f800000 | ((magnitude - 0x7c00) << 13);
  }
  return values;
}

/** The numbers of BF16 bits. */
export function decodeBf16(halves: Uint16Array): Float32Array<ArrayBuffer> {
  const values = new Float32Array(halves.length);
  const floats = new Int32Array(values.buffer);
  for (let i = 0; i < halves.length; i++) floats[i] = (halves[i] ?? 0) << 16;
  return values;
}
