/**
 * Converts single numbers to the bits of FP16 (IEEE binary16) and BF16 (the upper half of FP32), and back.
 *
 * Rounding is to nearest, ties to even, from the double itself. A conversion to FP32 in between would round
 * twice.
 */

/** One of the two 16-bit formats. */
export interface HalfFormat {
  /**
   * Bits of the number nearest to `value`. A number that is too large becomes infinity; every NaN becomes a
   * quiet one.
   */
  encode(value: number): number;
  /** The exact number that the 16 bits encode. */
  decode(bits: number): number;
  /** The smallest magnitude that rounds to infinity. */
  readonly overflow: number;
}

// Here and in half-arrays.ts the machine must be little-endian, as the wire is.
const double = new Float64Array(1);
const doubleWords = new Uint32Array(double.buffer);

/**
 * 2^52: adding it to a smaller positive double and subtracting it again rounds to an integer, ties to even.
 */
const roundToInteger = 2 ** 52;

function halfFormat(fractionBits: number, maxExponent: number): HalfFormat {
  const minExponent = 1 - maxExponent;
  const fractions = 1 << fractionBits;
  const maxBiased = 2 * maxExponent + 1;
  const infinity = maxBiased << fractionBits;
  /** The value of the last fraction bit for each biased exponent. Subnormals (0) share that of exponent 1. */
  const quanta = Float64Array.from(
    { length: maxBiased },
    (_, biased) => 2 ** (Math.max(biased, 1) - maxExponent - fractionBits),
  );

  return {
    overflow: (2 - 1 / (2 * fractions)) * 2 ** maxExponent,

    encode(value) {
      double[0] = value;
      const high = doubleWords[1] ?? 0;
      const sign = (high >>> 16) & 0x8000;
      const exponent = ((high >>> 20) & 0x7ff) - 1023;
      if (exponent > maxExponent) {
        return sign | infinity | (Number.isNaN(value) ? fractions >>> 1 : 0);
      }
      const biased = exponent < minExponent ? 0 : exponent + maxExponent;
      const steps = Math.abs(value) / (quanta[biased] ?? 0) + roundToInteger - roundToInteger;
      // `steps` includes a normal number's hidden bit, so 1 is subtracted from the exponent. A count rounded
      // up to the next power of two carries into the exponent, and from the largest exponent into infinity.
      return sign | (biased === 0 ? steps : ((biased - 1) << fractionBits) + steps);
    },

    decode(bits) {
      const biased = (bits & 0x7fff) >>> fractionBits;
      const fraction = bits & (fractions - 1);
      let magnitude: number;
      if (biased === maxBiased) magnitude = fraction === 0 ? Infinity : NaN;
      else magnitude = (biased === 0 ? fraction : fractions + fraction) * (quanta[biased] ?? 0);
      return (bits & 0x8000) === 0 ? magnitude : -magnitude;
    },
  };
}

/** IEEE binary16: 5 bits of exponent and 10 of fraction. */
export const fp16: HalfFormat = halfFormat(10, 15);

/** bfloat16: 8 bits of exponent and 7 of fraction. */
export const bf16: HalfFormat = halfFormat(7, 127);
